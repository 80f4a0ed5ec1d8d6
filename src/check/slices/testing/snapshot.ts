// A snapshot for pure tests: one sliced range, one node with one slice, all as it should be, but for what a test says.
import { leaseObject, nodeObject, slicedState, sliceObject, slicePoolObject } from "../../../slices/testing/objects.ts";
import { type SliceObjects, slicesFrom, type SlicesSnapshot } from "../snapshot.ts";

export const nowMs = Date.UTC(2026, 10, 15, 12);

export function snapshotOf(parts: Partial<SliceObjects> = {}): SlicesSnapshot {
  const usual: SliceObjects = {
    slices: [sliceObject()],
    pools: [slicePoolObject()],
    leases: [leaseObject("n1", nowMs - 12_000)],
    nodes: [nodeObject("n1")],
    state: slicedState({}),
  };
  return slicesFrom({ ...usual, ...parts }, nowMs);
}
