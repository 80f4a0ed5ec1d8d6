// IPAMClaim (k8s.cni.cncf.io/v1alpha1): an address that outlives the pods which use it. The multi-network standard v1.3, section 8, in the
// shape of v0.5.1 of its definition. The kind is the standard's, not ours: a cluster may have a newer one, which is never replaced.
import { z } from "zod";

import { conditions } from "../fields.ts";
import type { Kind } from "../kind.ts";
import { metadata } from "../metadata.ts";

const spec = z.looseObject({
  network: z.string().describe("The name in the network's CNI configuration, not that of its definition."),
  interface: z.string().describe("The interface inside the pod; may be empty."),
});

const status = z.looseObject({
  ips: z.array(z.string()).describe("The addresses, each with the length of its network: 10.0.0.7/24."),
  ownerPod: z.looseObject({ name: z.string().optional() }).optional().describe("The pod that uses them now."),
  conditions: conditions.optional(),
});

const schema = z.looseObject({
  apiVersion: z.literal("k8s.cni.cncf.io/v1alpha1"),
  kind: z.literal("IPAMClaim"),
  metadata,
  spec,
  status: status.optional(),
});

export type IpamClaim = z.infer<typeof schema>;

export const ipamClaimKind: Kind<typeof schema> = {
  group: "k8s.cni.cncf.io",
  version: "v1alpha1",
  kind: "IPAMClaim",
  plural: "ipamclaims",
  singular: "ipamclaim",
  shortNames: [],
  description: "An address on a network that stays with its owner, whichever pods use it.",
  schema,
  columns: [
    { name: "Network", type: "string", jsonPath: ".spec.network" },
    { name: "IPs", type: "string", jsonPath: ".status.ips" },
    { name: "Pod", type: "string", jsonPath: ".status.ownerPod.name" },
    { name: "Allocated", type: "string", jsonPath: '.status.conditions[?(@.type=="IPsAllocated")].status' },
  ],
};
