// Which nodes that cannot be reached keep a hold that names none.
import { expect, it } from "vitest";

import { leaseNodeAnnotation, nodeLeaseName } from "../../api/slices/node-lease.ts";
import { type Standing, trimLease } from "../../cluster/fencing.ts";
import type { Lease } from "../../kube/lease.ts";
import { nodesOf } from "./live-facts.ts";

const at = (hour: number) => `2026-01-01T${String(hour).padStart(2, "0")}:00:00Z`;
const leaseOf = (node: string, creationTimestamp?: string): Lease =>
  // As it is cached.
  trimLease({
    metadata: {
      name: nodeLeaseName(node),
      annotations: { [leaseNodeAnnotation]: node },
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    },
  });
const nodeOf = (name: string) => ({ metadata: { name } });
/** Those with such names are lost. */
const judge = (name: string): Standing => (name.startsWith("lost") ? "unreachable" : "ready");
const holder = { metadata: { name: "holdfast-controller", creationTimestamp: at(0) } };

const ready = [nodeOf("ready")];
const noon = Date.parse(at(12));

it.each([
  ["a Node that is unreachable", [...ready, nodeOf("lost")], [], noon, "lost"],
  ["one that came after the hold", [...ready, nodeOf("lost")], [leaseOf("lost", at(13))], noon, "lost"],
  ["a deleted one that was there before", ready, [leaseOf("lost", at(11))], noon, "lost"],
  ["a deleted one that came in the same second", ready, [leaseOf("lost", at(12))], noon, "lost"],
  ["a deleted one that came after it", ready, [leaseOf("lost", at(13))], noon, undefined],
  ["the older of two that are deleted", ready, [leaseOf("lost-2", at(13)), leaseOf("lost", at(11))], noon, "lost"],
  ["a deleted one, where nobody knows how old it is", ready, [leaseOf("lost")], noon, "lost"],
  ["a deleted one, where nobody knows how old the hold is", ready, [leaseOf("lost", at(13))], undefined, "lost"],
  ["nobody's Lease", ready, [holder], noon, undefined],
  ["without any Node the Lease of the machine, however old", [], [leaseOf("lost", at(13))], noon, "lost"],
])("a hold without a node is kept by %s", (_what, nodes, leases, createdMs, expected) => {
  const held = createdMs === undefined ? {} : { createdMs };
  expect(nodesOf(judge, nodes, leases).unreachableFor(held)).toBe(expected);
});
