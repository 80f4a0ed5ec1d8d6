// This node's holds: listed at the start, after a pause, after a restore, and compared with its live sandboxes. Before
// that no address is given or freed. Later looks compare again, from the server's cache, and nobody waits for them.
import { preconditionsOf } from "../../api/holds/version.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import { listHolds } from "../../ledger/reservation/list-holds.ts";
import type { FenceFacts } from "../claims/fence/fence-facts.ts";
import type { DaemonOptions } from "../context.ts";
import { RetryPause } from "../retry-pause.ts";
import { SingleFlight } from "../single-flight.ts";
import { attachmentOf, type HoldIndex, placeOf } from "./hold-index.ts";
import type { Reassert } from "./reassert.ts";
import type { Sandboxes } from "./sandboxes.ts";
import { heldKind, type History } from "./server-history.ts";

export interface HoldLoaderOptions extends Pick<DaemonOptions, "client" | "node" | "clock" | "random" | "log"> {
  readonly held: HoldIndex;
  readonly facts: Pick<FenceFacts, "hold">;
  readonly sandboxes: Pick<Sandboxes, "get">;
  readonly reassert: Pick<Reassert, "round">;
  readonly history: Pick<History, "expect">;
}

export class HoldLoader {
  readonly #options: HoldLoaderOptions;
  readonly #list = new SingleFlight<void>();
  readonly #pace: RetryPause;
  #isKnown = false;
  #isRestored = false;
  #generation = 0;

  constructor(options: HoldLoaderOptions) {
    this.#options = options;
    this.#pace = new RetryPause(options.clock, options.random);
  }

  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Throws the client's error where the API server does not answer; the next caller waits for its time, then tries. */
  async known(signal: AbortSignal): Promise<void> {
    if (!this.#isKnown) await this.#list.get("list", signal, (own) => this.#pace.run(own, () => this.#read(own)));
  }

  /** Holds may have moved: they are read again before anything is done by them. */
  forget(): void {
    this.#isKnown = false;
    this.#generation += 1;
    this.#list.clear();
  }

  /** Holds may be lost: they are made again before anything is done. */
  restored(): void {
    this.#isRestored = true;
    this.forget();
  }

  /** The last write of this node for a live sandbox is missing, or older: the server has forgotten it. One read. */
  async isLost(signal: AbortSignal): Promise<boolean> {
    const { held, facts, sandboxes } = this.#options;
    // Holds are about to be listed, and compared.
    if (!this.#isKnown) return false;
    const isLive = (entry: RecordedHold) => {
      const attachment = attachmentOf(entry.hold);
      return attachment !== undefined && sandboxes.get(attachment) !== undefined;
    };
    let last: RecordedHold | undefined;
    for (const entry of held.all()) if (isLive(entry) && numberOf(entry) > numberOf(last)) last = entry;
    if (last === undefined) return false;
    const { namespace, hold } = last;
    const found = await facts.hold({ namespace, domain: hold.domain, address: String(hold.address) }, signal);
    // Given back or taken over since the question, or about to be.
    if (held.get(placeOf(last)) !== last || !isLive(last)) return false;
    return found === undefined || numberOf({ namespace, hold: found }) < numberOf(last);
  }

  async look(signal: AbortSignal): Promise<void> {
    if (!this.#isKnown) return this.known(signal);
    const listed = await this.#entries(signal, { resourceVersion: "0" });
    await this.#options.reassert.round({ listed, afterRestore: false, signal });
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { held, log, reassert, history } = this.#options;
    const generation = this.#generation;
    const isRestored = this.#isRestored;
    using changes = held.follow();
    const entries = await this.#entries(signal, { onVersion: history.expect(heldKind) });
    // Holds may have moved since the list began, or the list itself tells of a restore.
    if (generation !== this.#generation) return this.known(signal);
    held.replace(entries, changes.places);
    await reassert.round({ listed: entries, afterRestore: isRestored, signal });
    if (generation !== this.#generation) return this.known(signal);
    this.#isKnown = true;
    this.#isRestored = false;
    log.info("what this node holds is known", { addresses: entries.length });
  }

  async #entries(signal: AbortSignal, options: object): Promise<RecordedHold[]> {
    const { client, node, log } = this.#options;
    const entries: RecordedHold[] = [];
    for await (const each of listHolds(client, { node, signal, ...options })) {
      if (each.unreadable !== undefined) log.warn(each.unreadable);
      // A claim's hold is of no sandbox, whichever node wrote it last: the leader alone frees it.
      else if (each.hold.owner.kind === "pod") entries.push({ namespace: each.namespace, hold: each.hold });
    }
    return entries;
  }
}

function numberOf(entry: RecordedHold | undefined): number {
  return entry === undefined ? 0 : Number(preconditionsOf(entry.hold.version).resourceVersion);
}
