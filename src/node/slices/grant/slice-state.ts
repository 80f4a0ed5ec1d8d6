// What a daemon remembers of one slice beside the journal, lost with the process and learned again from the object; and what its work on one needs.
import type { IPPool } from "../../../api/pools/ip-pool.ts";
import type { SliceReconcilerOptions } from "../reconciler.ts";
import type { ReadGrant, SharedPlace } from "./slice-object.ts";

/** Of one slice, for as long as it is with a worker. */
export interface SliceParts extends Omit<
  SliceReconcilerOptions,
  "workers" | "isLeaseHeard" | "onCompared" | "onAnswer"
> {
  readonly key: string;
  readonly state: SliceState;
  readonly signal: AbortSignal;
  /** The API server answered. */
  readonly onHeard: () => void;
}

export class SliceState {
  /** What the Lease said when the object was read; undefined: it must be read. */
  token: string | undefined;
  /** Which round of comparing the object was read in. */
  epoch = 0;
  /** The object as it was read or answered last; undefined: not known for certain. */
  present: IPPool | undefined;
  /** The grant on it, where it is this node's and can be read. */
  granted: ReadGrant | undefined;
  shared: SharedPlace | undefined;
  lastWriteMs = Number.NEGATIVE_INFINITY;
  /** Since when the object has been behind the journal. */
  dirtySinceMs: number | undefined;
  /** Somebody waits for what is to be said. */
  isUrgent = false;
}
