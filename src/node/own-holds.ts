// What this node holds, listed at the start and after a pause: until that is done no address is given and none is freed.
import type { KubeClient } from "../kube/rest.ts";
import { listHolds } from "../ledger/held-objects.ts";
import type { Log } from "../log/log.ts";
import type { Held, HeldEntry } from "./held.ts";
import { Shared } from "./shared.ts";

export interface OwnHoldsOptions {
  readonly client: KubeClient;
  readonly node: string;
  readonly held: Held;
  readonly log: Log;
}

export class OwnHolds {
  readonly #options: OwnHoldsOptions;
  readonly #list = new Shared<void>();
  #isKnown = false;
  /** How often it was forgotten. */
  #generation = 0;

  constructor(options: OwnHoldsOptions) {
    this.#options = options;
  }

  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Throws the client's error where the API server does not answer; the next who asks tries again. */
  async known(signal: AbortSignal): Promise<void> {
    if (!this.#isKnown) await this.#list.get("list", signal, (own) => this.#read(own));
  }

  /** They may have moved: read them again before anything is done by them. */
  forget(): void {
    this.#isKnown = false;
    this.#generation += 1;
    this.#list.clear();
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { client, node, held, log } = this.#options;
    const generation = this.#generation;
    const entries: HeldEntry[] = [];
    using changes = held.follow();
    for await (const each of listHolds(client, { node, signal })) {
      if (each.unreadable !== undefined) log.warn(each.unreadable);
      // What a claim has is of no sandbox, whichever node wrote it last: the leader alone frees it.
      else if (each.hold.owner.kind === "pod") entries.push({ namespace: each.namespace, hold: each.hold });
    }
    // They may have moved since the list began.
    if (generation !== this.#generation) return this.known(signal);
    held.replace(entries, changes.places);
    this.#isKnown = true;
    log.info("what this node holds is known", { addresses: entries.length });
  }
}
