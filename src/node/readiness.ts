// Whether an address can be given now: this node's holds and the cluster's state are known, nobody paused handing out.
import { readSlicedRanges } from "../cluster/sliced-ranges.ts";
import { fetchState, stateName } from "../cluster/state.ts";
import { deadline, sleep } from "../kube/clock.ts";
import type { DaemonOptions } from "./context.ts";
import type { HoldLoader } from "./holds/hold-loader.ts";
import type { History } from "./holds/server-history.ts";
import { later, trimmed } from "./request/failure.ts";
import type { SharedState } from "./shared-state.ts";
import type { SliceAgent } from "./slices/agent.ts";

export interface ReadinessOptions extends Pick<DaemonOptions, "client" | "clock" | "systemNamespace"> {
  readonly own: HoldLoader;
  readonly state: SharedState;
  readonly history: Pick<History, "assure" | "assertSettled" | "obstacle">;
  readonly presence: Pick<SliceAgent, "isWaitedFor" | "returns">;
}

export const notWaitedFor =
  "the Lease of this node was not renewed for two minutes, so nobody waits for it before a shared range is cut; look at the API server";

/** A daemon that has just started needs some seconds; a runtime asks again anyway. */
const patienceMs = 20_000;
/** A STATUS is asked for often, and must not hang. */
const statusMs = 2000;
const lookMs = 50;

export class Readiness {
  readonly #options: ReadinessOptions;
  /** At which return of the node its followed state was found to be the server's. */
  #confirmed = 0;
  #wasKnown = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** This node's holds are known, and releases may be written: otherwise they are only recorded. */
  get mayRelease(): boolean {
    const { own, state } = this.#options;
    return own.isKnown && state.hasSynced && state.paused === "";
  }

  /** Throws CniError (11) where no address can be given now: not ready, or paused. */
  async assertReady(signal: AbortSignal): Promise<void> {
    const { clock, history, presence, state } = this.#options;
    await history.assure(signal);
    await this.assertKnown(signal);
    // The list itself may tell of a restore.
    history.assertSettled();
    const { paused } = state;
    if (paused !== "")
      throw later(`handing out addresses is paused: ${paused}. It goes on by itself when that is over.`);
    // A node that has just started, or is back, renews its Lease at once.
    const endMs = clock.monotonicMs() + patienceMs;
    while (!presence.isWaitedFor && clock.monotonicMs() < endMs && (await sleep(clock, lookMs, signal)));
    if (!presence.isWaitedFor) throw later(`${notWaitedFor}; it goes on by itself.`);
    if (presence.returns !== this.#confirmed) await this.#assertCurrent(signal);
  }

  /**
   * Nobody waited for a node that was cut off: a range that it knows as shared may have slices by now. The state after
   * the Lease's renewal is new enough: a leader that cuts a range looks at all Leases after everybody was told.
   */
  async #assertCurrent(signal: AbortSignal): Promise<void> {
    const { client, state, systemNamespace: namespace, presence } = this.#options;
    const { returns } = presence;
    const told = readSlicedRanges(await fetchState(client, { namespace, signal }));
    // Nobody hands out by a state that is not known.
    if (told === undefined && state.sliced.unknown !== "") return;
    const what = `this node has not followed yet which ranges were cut into slices (ConfigMap ${stateName}) while it was silent`;
    if (told === undefined || told.version > state.sliced.version)
      throw later(`${what}: it goes on by itself in moments.`);
    this.#confirmed = returns;
  }

  /** Throws CniError (11) where this node's holds cannot be known now. Costs nothing once they are known. */
  async assertKnown(signal: AbortSignal): Promise<void> {
    const { own, state, clock } = this.#options;
    if (own.isKnown && state.hasSynced) return;
    using limit = deadline(clock, patienceMs, signal);
    try {
      await Promise.all([own.known(limit.signal), state.synced(limit.signal)]);
    } catch (error) {
      const holds = own.isKnown ? [] : ["what this node holds"];
      const missing = [...holds, ...(state.hasSynced ? [] : [`whether there is a ConfigMap ${stateName}`])];
      const what = `the API server has not told yet ${missing.join(" and ")}`;
      throw later(`${what}: ${trimmed(error)}; look at the API server, and try again.`, error);
    }
  }

  /** For who asks every few seconds: what was known once, and is forgotten after a pause, the next ADD asks for. */
  async assertServing(signal: AbortSignal): Promise<void> {
    if (!this.#wasKnown) await this.assertKnown(signal);
    this.#wasKnown = true;
  }

  /** What keeps the daemon from giving addresses, each as a sentence with its remedy. */
  async obstacles(signal: AbortSignal): Promise<readonly string[]> {
    const { client, state, clock, history } = this.#options;
    using limit = deadline(clock, statusMs, signal);
    const found: string[] = [];
    if (state.paused !== "") found.push(`Handing out is paused: ${state.paused}.`);
    if (state.hasSynced && state.sliced.unknown !== "") found.push(state.sliced.unknown);
    if (history.obstacle !== "") found.push(history.obstacle);
    try {
      await this.assertServing(limit.signal);
      await client.raw("/readyz", { signal: limit.signal });
    } catch (error) {
      found.push(`The API server is not reached (${trimmed(error)}): look at it, and at the daemon's network.`);
    }
    return found;
  }
}
