// `holdfast slices release`: takes the slices of a node from it, on an operator's word that it is off.
//
// Promised: nothing is written before every check passed; every write is guarded by the version that was judged, so that a daemon that
// writes meanwhile shows that it lives and stops it. Not promised: that the node is off.
import { fencedAnnotation } from "../api/slice-grant.ts";
import { type Clock, sleep } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import type { KubeClient } from "../kube/rest.ts";
import { ipPools } from "../ledger/resources.ts";
import { count } from "./count.ts";
import { ReleaseError } from "./release-error.ts";
import { assertReleasable, assertSilent, hasSpoken, releaseLines, spokenError } from "./release.ts";
import { isUnreadable, type SliceView, sliceViewOf } from "./slice-view.ts";
import { readSlices, type SlicesSnapshot } from "./snapshot.ts";

export interface ReleaseOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly systemNamespace: string;
  readonly node: string;
  /** Who says so: stands on every slice. */
  readonly by: string;
  readonly dryRun: boolean;
  /** The operator has said that the node is off. */
  readonly isConfirmed: boolean;
  /** How long the node must stay silent under our eyes. A daemon renews its Lease once a minute. */
  readonly observeMs: number;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** Throws ReleaseError. The slices that are fenced now; empty for a dry run. */
export async function fenceNode(options: ReleaseOptions): Promise<readonly SliceView[]> {
  const { node, dryRun, isConfirmed, say } = options;
  const before = await look(options);
  assertReleasable(before, node);
  for (const line of releaseLines(before, node)) say(line);
  for (const { why } of before.unreadable) say(`Left alone: ${why}`);
  if (dryRun) return [];
  if (!isConfirmed) {
    throw new ReleaseError(
      "not-confirmed",
      `Nothing was released. If node ${node} is switched off for certain, ask again with --yes-the-node-is-off.`,
    );
  }
  const after = await watch(options, before);
  await fenceAll(options, after.slices);
  return after.slices;
}

async function fenceAll(options: ReleaseOptions, slices: readonly SliceView[]): Promise<void> {
  for (const [done, slice] of slices.entries()) {
    try {
      await fence(options, slice);
    } catch (error) {
      if (!(error instanceof ReleaseError) || done === 0) throw error;
      const words = `${done} of ${count(slices.length, "slice")} are fenced already, and a daemon that sees it hands nothing out of them.`;
      throw new ReleaseError(error.code, `${error.message} ${words}`);
    }
  }
}

function look({ client, systemNamespace, node, clock, signal }: ReleaseOptions): Promise<SlicesSnapshot> {
  return readSlices({ client, systemNamespace, node, now: () => clock.wallMs(), signal });
}

/** Two looks: a node whose clock is hours behind seems silent to the first. */
async function watch(options: ReleaseOptions, before: SlicesSnapshot): Promise<SlicesSnapshot> {
  const { clock, node, observeMs, signal, say } = options;
  if (observeMs > 0) say(`Watching for ${observeMs / 1000} s whether node ${node} stays silent.`);
  if (observeMs > 0 && !(await sleep(clock, observeMs, signal))) {
    throw new ReleaseError("called-off", "It was called off; nothing was released.");
  }
  const after = await look(options);
  assertReleasable(after, node);
  assertSilent(before, after, node);
  return after;
}

/** The controller and the operator write other keys of the same object: a few rounds are plenty. */
const attemptsMax = 8;

async function fence({ client, clock, by, signal }: ReleaseOptions, judged: SliceView): Promise<void> {
  let slice: SliceView | undefined = judged;
  for (let attempt = 0; attempt < attemptsMax && slice !== undefined; attempt++) {
    if (slice.fenced !== "") return;
    const annotations = { [fencedAnnotation]: `${by} at ${new Date(clock.wallMs()).toISOString()}` };
    const body = { metadata: { resourceVersion: slice.resourceVersion, annotations } };
    const { namespace, name } = slice;
    try {
      await client.patch(ipPools, { namespace, name }, { type: "merge", body }, { signal });
      return;
    } catch (error) {
      if (isApiError(error, "not-found")) return;
      if (!isApiError(error, "conflict")) throw error;
    }
    slice = await readAgain(client, slice, signal);
  }
  if (slice === undefined) return;
  throw new ReleaseError("not-removed", `IPPool ${judged.key} changes too fast to be fenced: ask again.`);
}

/** Undefined: it is gone, or another of the same name. */
async function readAgain(client: KubeClient, slice: SliceView, signal: AbortSignal): Promise<SliceView | undefined> {
  try {
    const { namespace, name } = slice;
    const now = sliceViewOf(await client.get(ipPools, { namespace, name }, { signal }));
    if (isUnreadable(now)) throw new ReleaseError("not-removed", `${now.why} Correct it, then ask again.`);
    if (now.uid !== slice.uid) return undefined;
    if (hasSpoken(slice, now)) throw spokenError(now);
    return now;
  } catch (error) {
    if (isApiError(error, "not-found")) return undefined;
    throw error;
  }
}
