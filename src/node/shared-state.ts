import type { Informer } from "../kube/informer.ts";
// What the leader tells every daemon (ConfigMap holdfast-state), and what a daemon finds out itself where there is no leader.
//
// Until it is known, upstream counts as active: slower, never a duplicate.
import type { DeepReadonly } from "../kube/meta.ts";
import { type ClaimsState, readClaimsState } from "../ledger/claims-state.ts";
import type { ConfigMap } from "../ledger/resources.ts";
import { readSlicedRanges, type SlicedRanges } from "../ledger/sliced-ranges.ts";
import { readState, stateName } from "../ledger/state.ts";
import type { Log } from "../log/log.ts";

export type CoexistenceChoice = "auto" | "on" | "off";

export interface SharedStateOptions {
  readonly choice: CoexistenceChoice;
  readonly informer: Pick<Informer<ConfigMap>, "cache" | "hasSynced" | "synced" | "handle">;
  readonly systemNamespace: string;
  readonly log: Log;
  /** Pools may have moved or must be adopted anew. */
  readonly onChange: () => void;
}

export class SharedState {
  readonly #options: SharedStateOptions;
  /** What this daemon found itself; undefined: nothing yet. */
  #detected: boolean | undefined;
  /** What was read of the object last. */
  #read: { readonly object: ConfigMap | undefined; readonly sliced: SlicedRanges } | undefined;
  /** What whoever asks has been told. */
  #told: string;

  constructor(options: SharedStateOptions) {
    this.#options = options;
    this.#told = this.#words();
    options.informer.handle(() => this.#compare());
  }

  get hasSynced(): boolean {
    return this.#options.informer.hasSynced;
  }

  synced(signal: AbortSignal): Promise<void> {
    return this.#options.informer.synced(signal);
  }

  /** Nobody tells whether upstream is active: this daemon should find out. */
  get mustDetect(): boolean {
    return this.#options.choice === "auto" && this.hasSynced && this.#object() === undefined;
  }

  get coexistence(): boolean {
    const { choice } = this.#options;
    if (choice !== "auto") return choice === "on";
    const object = this.#object();
    return object === undefined ? (this.#detected ?? true) : readState(object).coexistence;
  }

  /** Empty, or who paused handing out. */
  get paused(): string {
    const object = this.#object();
    return object === undefined ? "" : readState(object).paused;
  }

  /**
   * The ranges that are cut into slices; undefined: not told yet. One that is older than what was read before, or gone, or cannot be
   * read any more, is not believed: addresses of slices would be shared until the leader has written it again.
   */
  get sliced(): SlicedRanges | undefined {
    if (!this.hasSynced) return undefined;
    const object = this.#object();
    if (this.#read === undefined || this.#read.object !== object) {
      const now = readSlicedRanges(object);
      const before = this.#read?.sliced ?? now;
      this.#read = { object, sliced: now.version < before.version ? before : now };
    }
    return this.#read.sliced;
  }

  /** What the leader says of persistent addresses. */
  get claims(): ClaimsState {
    return readClaimsState(this.#object());
  }

  /** Empty, or in a sentence why nothing is handed out of slices. While the API server has not told, nothing speaks against it. */
  get sliceObstacle(): string {
    if (!this.hasSynced) return "";
    if (this.paused !== "")
      return `handing out addresses is paused: ${this.paused}. It goes on by itself when that is over.`;
    const isKnown = this.#options.choice !== "auto" || this.#object() !== undefined;
    if (!isKnown || !this.coexistence) return "";
    return "whereabouts is active in this cluster, and its own controller may give the same slices to others: remove it (docs/node-slices.md), and it goes on by itself.";
  }

  detected(active: boolean, why: readonly string[]): void {
    if (this.#detected !== active)
      this.#options.log.info(active ? "whereabouts is active" : "whereabouts is not active", { why });
    this.#detected = active;
    this.#compare();
  }

  /** Compared by what matters, so that a rewritten object without a change costs nothing. */
  #compare(): void {
    // The leader's word ends what was found here: it would be old when the word is gone.
    if (this.#object() !== undefined) this.#detected = undefined;
    const told = this.#words();
    if (told === this.#told) return;
    this.#told = told;
    this.#options.log.info("state of the cluster", { coexistence: this.coexistence, paused: this.paused });
    // Before that nobody has asked: ADD and DEL wait for it.
    if (this.hasSynced) this.#options.onChange();
  }

  #words(): string {
    return `${this.coexistence} ${this.paused}`;
  }

  #object(): ConfigMap | undefined {
    const object: DeepReadonly<ConfigMap> | undefined = this.#options.informer.cache.get(
      `${this.#options.systemNamespace}/${stateName}`,
    );
    return object as ConfigMap | undefined;
  }
}
