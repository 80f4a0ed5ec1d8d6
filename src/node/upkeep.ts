// What the daemon does by itself: learns what the node holds, finds out whether whereabouts is active where nobody tells, counts
// the daemons there are, and renews pictures that are in use.
import { asError } from "../kube/abort.ts";
import { type Clock, deadline, sleep } from "../kube/clock.ts";
import type { KubeClient } from "../kube/rest.ts";
import { detectUpstream } from "../ledger/coexistence/upstream.ts";
import type { Log } from "../log/log.ts";
import type { OwnHolds } from "./own-holds.ts";
import type { DomainPicture } from "./picture.ts";
import type { Pictures } from "./pictures.ts";
import type { SharedState } from "./shared-state.ts";

export interface UpkeepOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly systemNamespace: string;
  readonly state: SharedState;
  readonly own: OwnHolds;
  readonly pictures: () => Pictures;
}

const tickMs = 2000;
const detectEveryMs = 60_000;
const countEveryMs = 600_000;
/** A picture older than this is renewed, if it was used since it was made. */
const pictureAgeMs = 30_000;
const callMs = 20_000;

export class Upkeep {
  readonly #options: UpkeepOptions;
  #daemons = 0;
  readonly #nextMs = { detect: 0, count: 0 };

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** How many nodes the cluster has; 0: not known. */
  get daemons(): number {
    return this.#daemons;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await this.#tick(signal);
      await sleep(clock, tickMs, signal);
    }
  }

  /** As a rule there is nothing to do, and that costs nothing. */
  async #tick(signal: AbortSignal): Promise<void> {
    const { own, state, clock } = this.#options;
    const detects = this.#isDue("detect", detectEveryMs, state.mustDetect);
    const counts = this.#isDue("count", countEveryMs, true);
    const old = this.#old();
    if (own.isKnown && !detects && !counts && old.length === 0) return;
    using limit = deadline(clock, callMs, signal);
    await this.#try("listing what this node holds", () => own.known(limit.signal));
    if (detects) await this.#try("looking for whereabouts", () => this.#detect(limit.signal));
    if (counts) await this.#try("counting nodes", () => this.#count(limit.signal));
    await this.#try("renewing pictures", () => this.#renew(old, limit.signal));
  }

  async #detect(signal: AbortSignal): Promise<void> {
    const { client, systemNamespace, clock, state } = this.#options;
    const { active, why } = await detectUpstream(client, { systemNamespace, now: () => clock.wallMs(), signal });
    state.detected(active, why);
  }

  /** One object, and the server says how many more there are. */
  async #count(signal: AbortSignal): Promise<void> {
    const text = await this.#options.client.raw("/api/v1/nodes?limit=1", { signal });
    const list = JSON.parse(text) as { items?: unknown[]; metadata?: { remainingItemCount?: number } };
    this.#daemons = (list.items?.length ?? 0) + (list.metadata?.remainingItemCount ?? 0);
  }

  /** Pictures that were used since they were renewed, and that is a while ago. */
  #old(): readonly DomainPicture[] {
    const nowMs = this.#options.clock.wallMs();
    return Array.from(this.#options.pictures().all()).filter(
      ({ usedMs, renewedMs }) => usedMs > renewedMs && nowMs - renewedMs >= pictureAgeMs,
    );
  }

  async #renew(old: readonly DomainPicture[], signal: AbortSignal): Promise<void> {
    const { clock, state } = this.#options;
    if (state.paused !== "") return;
    for (const picture of old) {
      picture.renewedMs = clock.wallMs();
      await this.#options.pictures().renew(picture, pictureAgeMs, signal);
    }
  }

  #isDue(what: "detect" | "count", everyMs: number, isWanted: boolean): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    if (!isWanted || nowMs < this.#nextMs[what]) return false;
    this.#nextMs[what] = nowMs + everyMs;
    return true;
  }

  /** What fails is tried again at the next tick; the API server being away is said once by those who follow it. */
  async #try(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log.debug(`${what} failed`, { error: asError(error) });
    }
  }
}
