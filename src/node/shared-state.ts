// The leader's word to every daemon (ConfigMap holdfast-state). Nothing is handed out of shared ranges before it is
// known; releases meanwhile go by the last word, and by the careful one where there was none.
import { sliceUseKey } from "../api/slices/node-lease.ts";
import { type ClaimsState, readClaimsState } from "../cluster/claims-state.ts";
import { inForce, poolNamespaceKey, poolNamespaceOf, readWord } from "../cluster/coexistence-word.ts";
import type { ConfigMap } from "../cluster/resources.ts";
import { readRefusal, readSlicedRanges, slicedKey, type SlicedRanges } from "../cluster/sliced-ranges.ts";
import { readState, restoredKey, stateName } from "../cluster/state.ts";
import type { Informer } from "../kube/cache/informer.ts";
import type { DaemonOptions } from "./context.ts";
import type { SeenVersion } from "./slices/seen-version.ts";

export interface SharedStateOptions extends Pick<DaemonOptions, "systemNamespace" | "log"> {
  readonly informer: Pick<Informer<ConfigMap>, "cache" | "hasSynced" | "synced" | "handle">;
  /** The newest version of the sliced ranges that this node has seen, and the place of pools by it, on its disk. */
  readonly seen: SeenVersion;
  readonly onChange: () => void;
}

export interface SlicedKnowledge extends SlicedRanges {
  /** Empty, or why the leader's word is not known: then `version` is the newest ever seen, without ranges. */
  readonly unknown: string;
}

export class SharedState {
  readonly #options: SharedStateOptions;
  #coexistence = true;
  #read: { readonly object: ConfigMap | undefined; readonly sliced: SlicedKnowledge } | undefined;
  /** The word that callers have been told. */
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

  /** The last one that was believed, also by the process before: a word that is not believed moves no pool. */
  get poolNamespace(): string {
    this.#knowledge();
    return this.#options.seen.place ?? this.#options.systemNamespace;
  }

  get coexistence(): boolean {
    return (this.#coexistence = inForce(this.#object()) ?? this.#coexistence);
  }

  /** Empty, or who paused handing out. */
  get paused(): string {
    const object = this.#object();
    return object === undefined ? "" : readState(object).paused;
  }

  /**
   * The ranges that are cut into slices. A state that is gone, unreadable, or older than what this node has ever seen
   * is not believed: addresses of slices would be shared until the leader has written it again.
   */
  get sliced(): SlicedKnowledge {
    const { seen } = this.#options;
    if (this.hasSynced) return this.#knowledge();
    return unknown(seen.version, `the API server has not told yet which ranges are cut into slices`);
  }

  #knowledge(): SlicedKnowledge {
    const object = this.#object();
    if (this.#read === undefined || this.#read.object !== object) this.#read = { object, sliced: this.#judged(object) };
    return this.#read.sliced;
  }

  #judged(object: ConfigMap | undefined): SlicedKnowledge {
    const { seen, systemNamespace } = this.#options;
    const told = readSlicedRanges(object);
    const name = `ConfigMap ${systemNamespace}/${stateName}`;
    const silent = `does not say which ranges are cut into slices (key ${slicedKey})`;
    if (told === undefined) return unknown(seen.version, `the ${name} ${object === undefined ? "is gone" : silent}`);
    if (told.version < seen.version) {
      const versions = `version ${told.version} of the sliced ranges, and this node has seen ${seen.version}`;
      return unknown(seen.version, `the ${name} is an older one, at ${versions}`);
    }
    const stray = this.#strayPlace(object, told.version);
    if (stray !== "") {
      seen.raise(told.version);
      return unknown(told.version, `the ${name} ${stray}`);
    }
    seen.raise(told.version, poolNamespaceOf(object, systemNamespace));
    if (inForce(object) === undefined) return unknown(told.version, `the ${name} says: ${readState(object).why}`);
    return { ...told, unknown: "" };
  }

  /**
   * Empty, or why the place of the pools is not believed: a second place would be a second ledger. A place that this
   * node did not act by needs a newer version; a missing one (a slip, a restore of before the move) revokes none.
   */
  #strayPlace(object: ConfigMap | undefined, version: number): string {
    const { seen, systemNamespace } = this.#options;
    const isSaid = object?.data?.[poolNamespaceKey] !== undefined;
    const place = poolNamespaceOf(object, systemNamespace);
    if (!isSaid) {
      const last = seen.place ?? readWord(object)?.namespace ?? systemNamespace;
      if (last === systemNamespace) return "";
      return `does not say where pools are (key ${poolNamespaceKey}), and they were in the namespace ${last}: if they are, say \`holdfast coexistence on\` (or off) with --namespace ${last}`;
    }
    if (place === (seen.place ?? place) || version > seen.version) return "";
    return `says that pools are in the namespace ${place}, and by the same version of the sliced ranges they were in ${seen.place}`;
  }

  /** Since when the leader waits for the word of all nodes; undefined: it does not. */
  get restoreNote(): string | undefined {
    return this.#object()?.data?.[restoredKey];
  }

  /** In a sentence why a range gets no slices; undefined: no reason is said. */
  refusalOf(use: Parameters<typeof sliceUseKey>[0]): string | undefined {
    return readRefusal(this.#object(), sliceUseKey(use));
  }

  get claims(): ClaimsState {
    return readClaimsState(this.#object());
  }

  /** Empty, or in a sentence why no claim holds anything. */
  get claimObstacle(): string {
    const remedy = "remove whereabouts (docs/migrate-from-whereabouts.md), and it goes on by itself";
    if (this.coexistence)
      return `whereabouts is active in this cluster and would free an address that a claim holds, since no pod has its name: ${remedy}.`;
    const { poolNamespace } = this;
    if (poolNamespace === this.#options.systemNamespace) return "";
    return `pools are in the namespace ${poolNamespace}, where whereabouts kept them: install Holdfast there for persistent addresses (docs/install.md).`;
  }

  /** Empty, or in a sentence why nothing is handed out of slices. An API server that has not told is no obstacle. */
  get sliceObstacle(): string {
    if (!this.hasSynced) return "";
    const { paused } = this;
    if (paused !== "") return `handing out addresses is paused: ${paused}. It goes on by itself when that is over.`;
    if (inForce(this.#object()) !== true) return "";
    return "whereabouts is active in this cluster, and its own controller may give the same slices to others: remove it (docs/node-slices.md), and it goes on by itself.";
  }

  /** Compared by the parts that matter, so that a rewritten object without a change costs nothing. */
  #compare(): void {
    const told = this.#words();
    if (told === this.#told) return;
    this.#told = told;
    this.#options.log.info("state of the cluster", { coexistence: this.coexistence, paused: this.paused });
    // Nobody has asked before that: ADD and DEL wait for it.
    if (this.hasSynced) this.#options.onChange();
  }

  #words(): string {
    return `${this.coexistence} ${this.poolNamespace} ${this.paused}`;
  }

  #object(): ConfigMap | undefined {
    const { informer, systemNamespace } = this.#options;
    return informer.cache.get(`${systemNamespace}/${stateName}`) as ConfigMap | undefined;
  }
}

function unknown(version: number, why: string): SlicedKnowledge {
  const remedy = "look whether a controller leads, which writes it again; it goes on by itself";
  return { version, ranges: [], unknown: `nothing is handed out of ranges that nodes share, since ${why}: ${remedy}.` };
}
