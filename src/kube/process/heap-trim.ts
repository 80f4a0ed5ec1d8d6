// Memory that V8 keeps of its garbage, given back to the system. While lists are read the heap grows to several times
// of what is left of them, and V8 neither shrinks it nor moves what is left together: 100,000 bindings are 58 MiB, and
// kept 140. One collection that compacts gives that back, in about 0.1 s in which nothing else runs. Promised:
// it is done only in a process that has little to do, and only after the heap has grown anew. Not promised: anything
// where Node was started without --expose-gc, as from a checkout; the image starts it so.
import { performance } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";

import { untilAborted } from "../abort.ts";
import { type Clock, sleep } from "../clock.ts";

export interface HeapTrimOptions {
  readonly clock: Clock;
  /** Default: V8's own, where it is exposed. */
  readonly collect?: (() => void) | undefined;
  /** What the heap has of the system's memory. */
  readonly heapBytes?: () => number;
  /** How much of the time since it was asked last was spent at work: 0 to 1. */
  readonly busy?: () => number;
}

const everyMs = 3000;
/** Smaller gains are not worth the pause. */
const grownBytes = 12 * 2 ** 20;
/** A process with more to do than that has no time for it. */
const busyMax = 0.25;

export async function trimHeap(options: HeapTrimOptions, signal: AbortSignal): Promise<void> {
  const { clock, collect = exposed(), heapBytes = ownHeapBytes, busy = ownBusy() } = options;
  if (collect === undefined) return untilAborted(signal);
  let trimmedBytes = 0;
  while (await sleep(clock, everyMs, signal)) {
    const isQuiet = busy() <= busyMax;
    if (!isQuiet || heapBytes() < trimmedBytes + grownBytes) continue;
    collect();
    trimmedBytes = heapBytes();
  }
}

const ownHeapBytes = (): number => getHeapStatistics().total_physical_size;

function exposed(): (() => void) | undefined {
  const { gc } = globalThis;
  // Any other flavor leaves half-empty pages as they are.
  return gc && (() => gc({ type: "major", execution: "sync", flavor: "last-resort" }));
}

function ownBusy(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
