// Hold (holdfast.io/v1alpha1): one object per address where whereabouts has no such object: a pool whose overlaps are
// not protected, a VM network. Creating it takes the address; hold-object.ts turns it into a hold of src/ipam and back.
import { z } from "zod";

import { defineKind, holdfastGroup } from "../kind.ts";

const owner = z.looseObject({
  kind: z.enum(["pod", "claim", "nic"]),
  uid: z.string().describe("Empty only where an older system recorded none."),
  namespace: z.string(),
  name: z.string(),
  port: z.string().default("").describe("The interface inside the pod, or the NIC of the VM; empty for a claim."),
});

const spec = z.looseObject({
  domain: z.string().min(1).describe("The set of addresses in which each has one owner: pool:NAMESPACE/NAME, say."),
  address: z.string().min(2).describe("The address, canonical: 10.0.0.7 or fd00::7."),
  owner,
  containerId: z.string().optional().describe("The container (sandbox) that uses the address."),
});

export const holdKind = defineKind(
  holdfastGroup,
  "Hold",
  { spec },
  {
    description: "One address that is taken, and its owner.",
    columns: [
      ["Address", ".spec.address"],
      ["Owner", ".spec.owner.name"],
      ["Port", ".spec.owner.port"],
      ["Domain", ".spec.domain", 1],
    ],
  },
);

export type HoldObject = z.infer<typeof holdKind.schema>;
