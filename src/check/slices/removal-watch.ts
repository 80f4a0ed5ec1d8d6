// Waits until the controller has removed the fenced slices of a node, and says how far it is.
import { ipPools, leases } from "../../cluster/resources.ts";
import { sleep } from "../../kube/clock.ts";
import { lookUp } from "../../kube/look-up.ts";
import { count } from "./count.ts";
import type { ReleaseOptions } from "./release-node.ts";
import { ReleaseError } from "./release.ts";
import type { SliceView } from "./slice-view.ts";

export interface RemovalOptions extends Pick<ReleaseOptions, "client" | "clock" | "timeoutMs" | "signal" | "say"> {
  /** The Lease under which a controller leads. */
  readonly leader: { readonly namespace: string; readonly name: string };
}

/** A round is a GET for each slice that is left: tens for a node, two seconds apart. */
const roundMs = 2000;
/** A leader renews every few seconds and loses its Lease after 15. */
const leaderSilentMs = 20_000;

/** Throws ReleaseError where they are still there when the time is up. */
export async function awaitRemoval(fenced: readonly SliceView[], options: RemovalOptions): Promise<void> {
  const { clock, timeoutMs, signal, say } = options;
  const endMs = clock.monotonicMs() + timeoutMs;
  const leader = new LeaderWatch(options);
  let left = await stillThere(fenced, options);
  while (left.length > 0) {
    await leader.look();
    if (clock.monotonicMs() >= endMs || !(await sleep(clock, roundMs, signal))) throw notRemoved(left, leader.isSilent);
    const now = await stillThere(left, options);
    if (now.length < left.length) say(`Removed: ${fenced.length - now.length} of ${count(fenced.length, "slice")}.`);
    left = now;
  }
}

function notRemoved(left: readonly SliceView[], isSilent: boolean): ReleaseError {
  const why = isSilent
    ? "no controller leads; start one (holdfast controller), which removes what is fenced"
    : "the controller has not removed it yet; holdfast slices shows when it has";
  const which = left.length === 1 ? String(left[0]!.block) : count(left.length, "slice");
  return new ReleaseError("not-removed", `What is fenced stays so, but not all of it is gone (${which}): ${why}.`);
}

/** An object of the same name with another UID is a slice that was granted anew. */
async function stillThere(slices: readonly SliceView[], { client, signal }: RemovalOptions): Promise<SliceView[]> {
  const left: SliceView[] = [];
  for (const slice of slices) {
    const { namespace, name, uid } = slice;
    const object = await lookUp(client, ipPools, { namespace, name }, { signal });
    if (object?.metadata.uid === uid) left.push(slice);
  }
  return left;
}

/** Judges a leader by whether its Lease changes under our eyes: clocks of different machines are not compared. */
class LeaderWatch {
  readonly #options: RemovalOptions;
  #version = "";
  #changedMs: number;
  isSilent = false;
  #isTold = false;

  constructor(options: RemovalOptions) {
    this.#options = options;
    this.#changedMs = options.clock.monotonicMs();
  }

  async look(): Promise<void> {
    const { clock, say, leader } = this.#options;
    const version = await this.#readVersion();
    if (version !== "" && this.#version !== version) this.#changedMs = clock.monotonicMs();
    const isLate = clock.monotonicMs() - this.#changedMs >= leaderSilentMs;
    // Not before it is late: a controller may lead without a Lease (--no-leader-elect), and has removed them by then.
    if (isLate && !this.#isTold) {
      this.#isTold = true;
      const lease = `Lease ${leader.namespace}/${leader.name}`;
      say(`No controller leads (${lease} is not renewed): the slices go when one does.`);
    }
    this.#version = version;
    this.isSilent = isLate || version === "";
  }

  /** Empty: nobody holds it. */
  async #readVersion(): Promise<string> {
    const { client, leader, signal } = this.#options;
    const { metadata, spec } = (await lookUp(client, leases, leader, { signal })) ?? {};
    return (spec?.holderIdentity ?? "") === "" ? "" : (metadata?.resourceVersion ?? "");
  }
}
