// `holdfast slices release`: an operator's word that a node is off, on its Lease. Its slices go to others after five
// silent minutes (src/cluster/fencing.ts). Promised: nothing is written before every check passed; the word is guarded
// by the version that was judged, and a renewal takes it back. Not promised: that the node is off.
import { nodeLabel, nodeLabelName } from "../../api/holds/hold-marks.ts";
import { leaseNodeAnnotation, nodeLeaseName } from "../../api/slices/node-lease.ts";
import { noteOn, offAnnotation, offBy } from "../../cluster/fencing.ts";
import { holds, ipPools, leases, reservations } from "../../cluster/resources.ts";
import { type ConfirmedAccess, controllerLease } from "../../cluster/state.ts";
import { sleep } from "../../kube/clock.ts";
import { isApiError } from "../../kube/errors.ts";
import { counted } from "../../net/counted.ts";
import { assertReleasable, assertSilent, ReleaseError, releaseLines } from "./release.ts";
import type { SliceView } from "./slice-view.ts";
import { readSlices, type SlicesSnapshot } from "./snapshot.ts";

/** `isConfirmed`: the operator has said that the node is off. */
export interface ReleaseOptions extends ConfirmedAccess {
  readonly node: string;
  /** Who says so: stands on the node's Lease. */
  readonly by: string;
  /** How long the node must stay silent under our eyes. A daemon renews its Lease once a minute. */
  readonly observeMs: number;
  /** Until the controller has removed the slices. */
  readonly wait: boolean;
  readonly timeoutMs: number;
}

/** Throws ReleaseError. */
export async function releaseNode(options: ReleaseOptions): Promise<void> {
  const { node, dryRun, wait, say } = options;
  const fenced = await fenceNode(options);
  if (dryRun) return say("Nothing was written: this was a dry run.");
  say(`Node ${node} is declared off, with ${counted(fenced.length, "slice")}.`);
  if (!wait) return say("The controller removes its slices; holdfast slices shows when it has.");
  await awaitRemoval(fenced, options);
  say("Removed: what no pod holds of them is free for others.");
}

/** The slices that go; empty for a dry run. */
async function fenceNode(options: ReleaseOptions): Promise<readonly SliceView[]> {
  const { node, dryRun, isConfirmed, say } = options;
  const before = await look(options);
  assertReleasable(before, node);
  const records = await recordsOf(options);
  for (const line of releaseLines(before, node, records)) say(line);
  for (const { why } of before.unreadable) say(`Left alone: ${why}`);
  if (dryRun) return [];
  if (!isConfirmed) {
    const remedy = `If node ${node} is switched off for certain, ask again with --yes-the-node-is-off`;
    throw new ReleaseError("not-confirmed", `Nothing was released. ${remedy}.`);
  }
  const after = await watch(options, before);
  await declareOff(options, after);
  return after.slices;
}

/** How many addresses of shared ranges its pods hold, by the records' labels. */
async function recordsOf({ client, node, signal }: ReleaseOptions): Promise<number> {
  const scope = { labelSelector: `${nodeLabelName}=${nodeLabel(node)}`, signal };
  const lists = [await client.list(reservations, scope), await client.list(holds, scope)];
  return lists.reduce((sum, { items }) => sum + items.length, 0);
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

/** The controller writes other keys of the same object: a few rounds are plenty. */
const attemptsMax = 8;

async function declareOff(options: ReleaseOptions, judged: SlicesSnapshot): Promise<void> {
  const { client, clock, systemNamespace: namespace, node, by, signal } = options;
  const name = nodeLeaseName(node);
  let now = judged;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const lease = now.leases.get(node)?.object;
    if (offBy(lease) !== undefined) return;
    const words = noteOn(lease, `${by} at ${new Date(clock.wallMs()).toISOString()}`);
    const annotations = { [leaseNodeAnnotation]: node, [offAnnotation]: words };
    const body = { metadata: { resourceVersion: lease?.metadata.resourceVersion ?? "", annotations } };
    try {
      if (lease !== undefined) await client.patch(leases, { namespace, name }, { type: "merge", body }, { signal });
      else await client.create(leases, { metadata: { namespace, name, annotations } }, { signal });
      return;
    } catch (error) {
      if (!isApiError(error, "conflict", "already-exists", "not-found")) throw error;
    }
    now = await look(options);
    assertSilent(judged, now, node);
  }
  throw new ReleaseError("not-removed", `Lease ${namespace}/${name} changes too fast to be written: ask again.`);
}

/** A round is a GET for each slice that is left: tens for a node, two seconds apart. */
const roundMs = 2000;
/** A leader renews every few seconds and loses its Lease after 15. */
const leaderSilentMs = 20_000;

/** Throws ReleaseError where they are still there when the time is up. */
async function awaitRemoval(fenced: readonly SliceView[], options: ReleaseOptions): Promise<void> {
  const { clock, timeoutMs, signal, say } = options;
  const endMs = clock.monotonicMs() + timeoutMs;
  const isLeaderSilent = leaderWatch(options);
  let left = await stillThere(fenced, options);
  while (left.length > 0) {
    const isSilent = await isLeaderSilent();
    if (clock.monotonicMs() >= endMs || !(await sleep(clock, roundMs, signal))) throw notRemoved(left, isSilent);
    const now = await stillThere(left, options);
    if (now.length < left.length) say(`Removed: ${fenced.length - now.length} of ${counted(fenced.length, "slice")}.`);
    left = now;
  }
}

function notRemoved(left: readonly SliceView[], isSilent: boolean): ReleaseError {
  const why = isSilent
    ? "no controller leads; start one (holdfast controller), which removes what is fenced"
    : "the controller has not removed it yet; holdfast slices shows when it has";
  const which = left.length === 1 ? String(left[0]!.block) : counted(left.length, "slice");
  return new ReleaseError("not-removed", `What is fenced stays so, but not all of it is gone (${which}): ${why}.`);
}

/** An object of the same name with another UID is a slice that was granted anew. */
async function stillThere(slices: readonly SliceView[], { client, signal }: ReleaseOptions): Promise<SliceView[]> {
  const left: SliceView[] = [];
  for (const slice of slices) {
    const { namespace, name, uid } = slice;
    const object = await client.lookUp(ipPools, { namespace, name }, { signal });
    if (object?.metadata.uid === uid) left.push(slice);
  }
  return left;
}

/** Whether a leader is silent, judged by its Lease under our eyes: clocks of different machines are not compared. */
function leaderWatch({ client, clock, say, systemNamespace: namespace, signal }: ReleaseOptions) {
  let known = "";
  let changedMs = clock.monotonicMs();
  let isTold = false;
  return async (): Promise<boolean> => {
    const { metadata, spec } = (await client.lookUp(leases, { namespace, name: controllerLease }, { signal })) ?? {};
    /** Empty: nobody holds it. */
    const version = (spec?.holderIdentity ?? "") === "" ? "" : (metadata?.resourceVersion ?? "");
    if (version !== "" && known !== version) changedMs = clock.monotonicMs();
    known = version;
    const isLate = clock.monotonicMs() - changedMs >= leaderSilentMs;
    // Not before it is late: a controller may lead without a Lease (--no-leader-elect), and has removed them by then.
    if (isLate && !isTold) {
      isTold = true;
      say(`No controller leads (Lease ${namespace}/${controllerLease} is not renewed): the slices go when one does.`);
    }
    return isLate || version === "";
  };
}
