// The controller's part of a node's Lease, one write for all pools: slices with grant versions, why a range has none,
// since when the node is gone. Promised: only granted slices are named, assigned ones and those that drain: the loser
// of an overlap, of a restored copy, may be in no journal, and goes when its node has said so. The daemon's part stays.
import { leaseNodeAnnotation, nodeLeaseName, sliceUseKey } from "../../api/slices/node-lease.ts";
import { slicesAnnotation, writeNodeSlices } from "../../api/slices/node-lease.ts";
import { goneSinceAnnotation, goneSinceMs, noteOn, trimLease } from "../../cluster/fencing.ts";
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import { leases } from "../../cluster/resources.ts";
import { readSlice, type SliceObject } from "../../cluster/slice-object.ts";
import type { Lease } from "../../kube/lease.ts";
import { type DeepReadonly, keyOf } from "../../kube/meta.ts";
import { removed, type SliceCaches } from "../caches.ts";
import { keyOf as allocationKey } from "../plan/entry.ts";
import type { NodeFacts } from "../plan/facts.ts";
import type { PoolTarget } from "../ranges/pool-targets.ts";
import { readPool } from "./pool-object.ts";

export interface LeaseWriterOptions extends Pick<ReconcilerOptions, "client" | "clock" | "systemNamespace"> {
  readonly caches: SliceCaches;
  /** Every target, with the reason why a node has nothing of it. */
  readonly waiting: () => Iterable<{ readonly target: PoolTarget; readonly why: (node: string) => string | undefined }>;
}

export async function writeLease(options: LeaseWriterOptions, facts: NodeFacts, signal: AbortSignal): Promise<void> {
  const { client, caches, systemNamespace: namespace } = options;
  const { name: node, isPresent, isLeaving = false, isOver = false } = facts;
  const lease = caches.leaseOf(node);
  const slices = caches.slices.byIndex("node", node).flatMap((object) => readSlice(object) ?? []);
  const isGone = !isPresent || isLeaving;
  if (isOver && slices.length === 0) {
    // Nobody renews it and it names nothing.
    if (lease === undefined) return;
    await removed(client, leases, lease, signal);
    return caches.leases.drop(lease);
  }
  // Only its Lease could know of such a node any more.
  if (!isPresent && slices.length === 0 && lease === undefined) return;
  const content = contentOf(options, node, slices, isGone);
  const isEmpty = Object.keys(content.grants).length === 0 && Object.keys(content.waiting).length === 0;
  const said = lease?.metadata.annotations?.[slicesAnnotation];
  if (isEmpty && said === undefined && !isGone) return;
  const note = noteFor(lease, facts, new Date(options.clock.wallMs()));
  const text = writeNodeSlices(content);
  const name = nodeLeaseName(node);
  if (lease === undefined) {
    // Without a Lease there is no note to take back.
    const marks = { [leaseNodeAnnotation]: node, [slicesAnnotation]: text };
    const annotations = { ...marks, ...(note as Record<string, string>) };
    const made = await client.create(leases, { metadata: { namespace, name, annotations } }, { signal });
    return caches.leases.put(trimLease(made));
  }
  const annotations = { ...(said !== text && { [slicesAnnotation]: text }), ...note };
  if (Object.keys(annotations).length === 0) return;
  const body = { metadata: { resourceVersion: lease.metadata.resourceVersion, annotations } };
  caches.leases.put(trimLease(await client.patch(leases, { namespace, name }, { type: "merge", body }, { signal })));
}

function contentOf(options: LeaseWriterOptions, node: string, slices: readonly SliceObject[], isGone: boolean) {
  const grants: Record<string, string> = {};
  for (const slice of slices) {
    const { grant, object } = slice;
    const pool = options.caches.pools.get(slice.pool);
    const isAssigned = pool !== undefined && readPool(pool)?.assigned.has(allocationKey(slice));
    if (grant !== undefined && (isAssigned === true || grant.phase === "draining"))
      grants[keyOf(object)] = `${grant.generation}.${grant.serial}`;
  }
  const waiting: Record<string, string> = {};
  // A node that is gone waits for nothing.
  for (const { target, why } of isGone ? [] : options.waiting()) {
    const words = why(node);
    if (words !== undefined) waiting[sliceUseKey(target)] = words;
  }
  return { grants, waiting };
}

/** A new leader that has not waited long enough to call the Lease silent leaves the note of the one before. */
function noteFor(lease: DeepReadonly<Lease> | undefined, facts: NodeFacts, now: Date): Record<string, string | null> {
  const { isPresent, isLeaving = false } = facts;
  const hasNote = lease?.metadata.annotations?.[goneSinceAnnotation] !== undefined;
  const isValid = goneSinceMs(lease) !== undefined;
  if (!isPresent && !isValid) return { [goneSinceAnnotation]: noteOn(lease, now.toISOString()) };
  return hasNote && ((isPresent && !isLeaving) || !isValid) ? { [goneSinceAnnotation]: null } : {};
}
