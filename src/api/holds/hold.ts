// Hold (holdfast.io/v1alpha1): one object per address where whereabouts has no such object: a pool whose overlaps are not
// protected, a VM network. Creating it takes the address; hold-object.ts turns it into a hold of src/ipam and back.
import { z } from "zod";

import { holdfastGroup, type Kind } from "../kind.ts";
import { metadata } from "../metadata.ts";

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

const schema = z.looseObject({
  apiVersion: z.literal(`${holdfastGroup}/v1alpha1`),
  kind: z.literal("Hold"),
  metadata,
  spec,
});

export type HoldObject = z.infer<typeof schema>;

export const holdKind: Kind<typeof schema> = {
  group: holdfastGroup,
  version: "v1alpha1",
  kind: "Hold",
  plural: "holds",
  singular: "hold",
  shortNames: [],
  description: "One address that is taken, and its owner.",
  schema,
  columns: [
    { name: "Address", type: "string", jsonPath: ".spec.address" },
    { name: "Owner", type: "string", jsonPath: ".spec.owner.name" },
    { name: "Port", type: "string", jsonPath: ".spec.owner.port" },
    { name: "Domain", type: "string", jsonPath: ".spec.domain", priority: 1 },
  ],
};
