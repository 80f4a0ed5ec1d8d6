// IPAMClaim (k8s.cni.cncf.io/v1alpha1): an address that outlives the pods which use it. Multi-network standard v1.3,
// section 8, in the shape of v0.5.1 of its definition. The kind is the standard's: a newer one in a cluster is never
// replaced.
import { z } from "zod";

import { conditions } from "../fields.ts";
import { defineKind } from "../kind.ts";

const spec = z.looseObject({
  network: z.string().describe("The name in the network's CNI configuration, not that of its definition."),
  interface: z.string().describe("The interface inside the pod; may be empty."),
});

const status = z.looseObject({
  ips: z.array(z.string()).describe("The addresses, each with the length of its network: 10.0.0.7/24."),
  ownerPod: z.looseObject({ name: z.string().optional() }).optional().describe("The pod that uses them now."),
  conditions: conditions.optional(),
});

export const ipamClaimKind = defineKind(
  "k8s.cni.cncf.io",
  "IPAMClaim",
  { spec, status: status.optional() },
  {
    description: "An address on a network that stays with its owner, whichever pods use it.",
    columns: [
      ["Network", ".spec.network"],
      ["IPs", ".status.ips"],
      ["Pod", ".status.ownerPod.name"],
      ["Allocated", '.status.conditions[?(@.type=="IPsAllocated")].status'],
    ],
  },
);

export type IpamClaim = z.infer<typeof ipamClaimKind.schema>;
