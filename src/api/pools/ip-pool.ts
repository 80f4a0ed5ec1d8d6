// IPPool (whereabouts.cni.cncf.io/v1alpha1): one range and who has which address of it. docs/objects.md says which
// field is whose. The schema accepts whatever whereabouts and its fork write; `spec.range` must be a CIDR, since
// nothing in the pool means anything without it. Keys of `allocations` are not judged here: allocations.ts reads the
// good ones and names the bad.
import { z } from "zod";

import { conditions, count } from "../fields.ts";
import { defineKind, whereaboutsGroup } from "../kind.ts";
import { range } from "./range.ts";

const allocation = z.looseObject({
  id: z.string().describe("The container (sandbox) that uses the address."),
  podref: z.string().describe("namespace/name of the pod, or of the claim or VM that owns the address."),
  ifname: z.string().optional().describe("The interface inside the pod, or the NIC of the VM."),
  kind: z
    .enum(["pod", "claim", "nic"])
    .optional()
    .describe("Holdfast: what kind of owner podref names; absent: a pod."),
  uid: z.string().optional().describe("Holdfast: the owner's UID."),
});

export type PoolAllocation = z.infer<typeof allocation>;

/** Written whole, never merged: two writers of single keys would otherwise both own the map. */
const allocations = z
  .record(z.string(), allocation)
  .meta({ "x-kubernetes-map-type": "atomic" })
  .describe("Key: the decimal offset of the address from the address in spec.range.");

const spec = z.looseObject({
  range: range.describe("The range, in CIDR notation. Host bits shift the base of every offset."),
  allocations,
  enable_l3: z.boolean().optional().describe("Network and broadcast address are usable too."),
});

const text = z.string().optional();
const allocatedIp = z.looseObject({ ip: z.string(), podRef: text, ifName: text });

const status = z.looseObject({
  firstIP: text,
  lastIP: text,
  totalIPs: count.optional(),
  usedIPs: count.optional(),
  freeIPs: count.optional(),
  orphanedIPs: count.optional(),
  pendingPods: count.optional(),
  overlappingReservations: count.optional(),
  allocatedIPs: z.array(allocatedIp).meta({ "x-kubernetes-list-type": "atomic" }).optional(),
  conditions: conditions.optional(),
});

export const ipPoolKind = defineKind(
  whereaboutsGroup,
  "IPPool",
  { spec, status: status.optional() },
  {
    shortNames: ["ipp"],
    description: "A range of addresses, and who has which of them.",
    columns: [
      ["Range", ".spec.range"],
      ["Total", ".status.totalIPs"],
      ["Used", ".status.usedIPs"],
      ["Free", ".status.freeIPs"],
      ["Ready", '.status.conditions[?(@.type=="Ready")].status'],
    ],
  },
);

export type IPPool = z.infer<typeof ipPoolKind.schema>;
