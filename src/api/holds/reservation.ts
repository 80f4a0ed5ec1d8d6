// OverlappingRangeIPReservation (whereabouts.cni.cncf.io/v1alpha1): one object per address, named by network and address.
// Creating it takes the address. reservation-hold.ts turns it into a hold and back.
import { z } from "zod";

import { conditions } from "../fields.ts";
import { type Kind, whereaboutsGroup } from "../kind.ts";
import { metadata } from "../metadata.ts";

const spec = z.looseObject({
  containerid: z.string().optional().describe("The container (sandbox) that uses the address."),
  podref: z.string().describe("namespace/name of the pod, or of the claim or VM that owns the address."),
  ifname: z.string().optional().describe("The interface inside the pod, or the NIC of the VM."),
  poduid: z.string().optional().describe("The UID of the pod."),
});

const schema = z.looseObject({
  apiVersion: z.literal(`${whereaboutsGroup}/v1alpha1`),
  kind: z.literal("OverlappingRangeIPReservation"),
  metadata,
  spec,
  status: z.looseObject({ conditions: conditions.optional() }).optional(),
});

export type Reservation = z.infer<typeof schema>;

export const reservationKind: Kind<typeof schema> = {
  group: whereaboutsGroup,
  version: "v1alpha1",
  kind: "OverlappingRangeIPReservation",
  plural: "overlappingrangeipreservations",
  singular: "overlappingrangeipreservation",
  shortNames: ["orip"],
  description: "One address of a network that is taken, whichever range it was taken from.",
  schema,
  columns: [
    { name: "PodRef", type: "string", jsonPath: ".spec.podref" },
    { name: "IfName", type: "string", jsonPath: ".spec.ifname" },
    { name: "ContainerID", type: "string", jsonPath: ".spec.containerid", priority: 1 },
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  ],
};
