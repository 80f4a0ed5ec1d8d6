// NodeSlicePool (whereabouts.cni.cncf.io/v1alpha1): a range cut into slices, and which node has which. As in
// whereabouts' own definition there is no status subresource: its node-slice-controller writes the status by plain
// updates, which a definition with one ignores without a word.
import { z } from "zod";

import { conditions, count } from "../fields.ts";
import { defineKind, whereaboutsGroup } from "../kind.ts";
import { range } from "../pools/range.ts";

const spec = z.looseObject({
  range: range.describe("The whole range, in CIDR notation."),
  sliceSize: z
    .string()
    .refine((text) => /^\/?\d{1,3}$/.test(text), "expected a prefix length, like /24 or 24")
    .describe("The prefix length of a slice: /24 or 24."),
});

const slice = z.looseObject({
  nodeName: z.string().describe("The node that has the slice; empty: nobody."),
  sliceRange: z.string().describe("The slice, or a piece of one that another node gave up, in CIDR notation."),
});

const status = z.looseObject({
  allocations: z
    .array(slice)
    .describe("What is assigned; free slices are not written.")
    .meta({ "x-kubernetes-list-type": "atomic" }),
  totalSlices: count.optional(),
  assignedSlices: count.optional(),
  freeSlices: count.optional(),
  lastGeneration: z.int().nonnegative().optional().describe("Holdfast: the greatest generation of a grant so far."),
  conditions: conditions.optional(),
});

export const nodeSlicePoolKind = defineKind(
  whereaboutsGroup,
  "NodeSlicePool",
  { spec, status: status.optional() },
  {
    shortNames: ["nsp"],
    description: "A range that is cut into slices, one or more for each node.",
    plainStatus: true,
    columns: [
      ["Range", ".spec.range"],
      ["SliceSize", ".spec.sliceSize"],
      ["Total", ".status.totalSlices"],
      ["Assigned", ".status.assignedSlices"],
      ["Free", ".status.freeSlices"],
      ["Ready", '.status.conditions[?(@.type=="Ready")].status'],
    ],
  },
);

export type NodeSlicePool = z.infer<typeof nodeSlicePoolKind.schema>;
