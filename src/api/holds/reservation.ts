// OverlappingRangeIPReservation (whereabouts.cni.cncf.io/v1alpha1): one object per address, named by network and
// address. Creating it takes the address. reservation-hold.ts turns it into a hold and back.
import { z } from "zod";

import { conditions } from "../fields.ts";
import { defineKind, whereaboutsGroup } from "../kind.ts";

const spec = z.looseObject({
  containerid: z.string().optional().describe("The container (sandbox) that uses the address."),
  podref: z.string().describe("namespace/name of the pod, or of the claim or VM that owns the address."),
  ifname: z.string().optional().describe("The interface inside the pod, or the NIC of the VM."),
  poduid: z.string().optional().describe("The UID of the pod."),
});

const status = z.looseObject({ conditions: conditions.optional() });

export const reservationKind = defineKind(
  whereaboutsGroup,
  "OverlappingRangeIPReservation",
  { spec, status: status.optional() },
  {
    shortNames: ["orip"],
    description: "One address of a network that is taken, whichever range it was taken from.",
    columns: [
      ["PodRef", ".spec.podref"],
      ["IfName", ".spec.ifname"],
      ["ContainerID", ".spec.containerid", 1],
      ["Ready", '.status.conditions[?(@.type=="Ready")].status'],
    ],
  },
);

export type Reservation = z.infer<typeof reservationKind.schema>;
