// Slices that journals have, as daemons say (src/api/slices/node-lease.ts), for a leader that finds fewer on the API
// server: etcd was restored from an older copy, or a hand deleted them.
// Promised: a slice that a node says it has is nobody else's before the node is fenced. No free block is given before
// every daemon with a Lease has spoken in this term, or had time to. After a restore every node with a Lease has spoken
// or is fenced: one that sleeps may have slices that nobody remembers. Nodes that the server has forgotten had time.
// A node that was asleep itself, or lost its disk, cannot have noticed a restore: where no other is heard, time counts.
import { ObjectError } from "../api/error.ts";
import { poolName } from "../api/pools/pool-name.ts";
import { journalAnnotation, type JournalSlices, nodeLeaseName, readJournalSlices } from "../api/slices/node-lease.ts";
import { blocksOf } from "../api/slices/slice-grant.ts";
import { nodeOfLease, renewTimeOf } from "../cluster/fencing.ts";
import type { Presence } from "../cluster/node-presence.ts";
import { prefixOf, readSlice } from "../cluster/slice-object.ts";
import type { Clock } from "../kube/clock.ts";
import type { Lease } from "../kube/lease.ts";
import type { DeepReadonly } from "../kube/meta.ts";
import type { Log } from "../log/log.ts";
import { attempt } from "../net/coded-error.ts";
import { counted } from "../net/counted.ts";
import { difference } from "../net/interval-set.ts";
import { type Interval, intervalOf } from "../net/interval.ts";
import { containsPrefix, overlaps, type Prefix } from "../net/prefix.ts";
import type { SliceCaches } from "./caches.ts";
import { keyOf as allocationKey } from "./plan/entry.ts";
import type { RangePlace } from "./ranges/phases.ts";
import { readPool, type ReadPool } from "./writers/pool-object.ts";

/** A slice without an object, its node's by no status. `pool`, `key`: NodeSlicePool and IPPool, namespace/name each. */
export interface ForgottenSlice extends RangePlace {
  readonly node: string;
  readonly block: Prefix;
  readonly key: string;
}

export interface JournalsOptions {
  readonly caches: SliceCaches;
  readonly presence: Pick<Presence, "isFresh" | "fenced">;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Pick<Log, "warn">;
}

/** A daemon renews within 66 s, and a call may take 10. Thousands that are back at once are slower: 20 ms more each. */
const hearMs = { least: 80_000, perNode: 20, perSlice: 100 };
/** Four times the slices that a Lease names at most. */
const unnamedMost = 4096;

export class RestoredJournals {
  readonly #options: JournalsOptions;
  /** Node -> the slices that its Lease names, read once for each text. */
  readonly #read = new Map<string, { readonly text: string | undefined; readonly said: Said }>();
  /** Node -> the slices that were judged, and warned of where they are wrong. */
  readonly #warned = new Map<string, Said>();
  /** Node -> renewTime of its Lease at the term's begin, of nodes not heard since; silent ones too. */
  #unheard: Map<string, string> | undefined;
  #untilMs = Number.POSITIVE_INFINITY;
  #isLost = false;
  #isRestored = false;
  /** A node that had a Lease when the term began has spoken since: it would have noticed a restore. */
  #hasHeard = false;
  /** One has spoken that would not. */
  #hasWoken = false;

  constructor(options: JournalsOptions) {
    this.#options = options;
  }

  /** All objects have been listed. */
  begin(): void {
    this.#await();
    for (const lease of this.#options.caches.leases.list()) {
      if (this.#said(nodeOfLease(lease) ?? "", lease).restored) this.restored();
    }
  }

  #await(): void {
    this.#unheard = new Map();
    this.#hasHeard = false;
    this.#hasWoken = false;
    this.#untilMs = this.#hearUntilMs();
    for (const lease of this.#options.caches.leases.list()) {
      const node = nodeOfLease(lease);
      if (node !== undefined && renewTimeOf(lease) !== "") this.#unheard.set(node, renewTimeOf(lease));
    }
  }

  /** The versions that daemons have seen are lost: they may have slices without an object, and say so in time. */
  lost(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#untilMs = this.#hearUntilMs();
  }

  /** The server's state, with Leases, is an older copy: a node's word from before is void, and may be incomplete. */
  restored(): void {
    if (this.#isRestored) return;
    this.#isRestored = true;
    this.#isLost = true;
    this.#await();
  }

  /** An operator knows that no node has more than the server knows. */
  waived(): void {
    this.#isRestored = false;
    this.#unheard = new Map();
    this.#hasHeard = true;
  }

  /** The server was restored, and a node that may have more than the server knows has not spoken since. */
  get isAwaiting(): boolean {
    return this.#isRestored && !this.isWhole;
  }

  #hearUntilMs(): number {
    const { clock, caches } = this.#options;
    return clock.monotonicMs() + hearMs.least + hearMs.perNode * caches.leases.size;
  }

  /** True: the last node that was waited for has spoken. */
  heard(lease: DeepReadonly<Lease>): boolean {
    const node = nodeOfLease(lease) ?? "";
    const { restored, woke, isReadable } = this.#said(node, lease);
    const before = this.#unheard?.get(node);
    // A node that tells of a restore has spoken since.
    if (restored) this.restored();
    if (!isReadable || before === undefined || before === renewTimeOf(lease)) return false;
    this.#unheard?.delete(node);
    if (woke) this.#hasWoken = true;
    else this.#hasHeard = true;
    return this.isWhole;
  }

  /** Empty, or in a sentence why nothing free may be given to a node. */
  get obstacle(): string {
    const silent = this.#awaited();
    if (!this.hasWaited) {
      const who =
        this.#isLost || this.#unheard === undefined || silent.length === 0
          ? "all nodes"
          : `${silent.length} of the nodes`;
      return `The controller has just begun, and waits until ${who} have said which slices they have; if none runs, start a daemon.`;
    }
    const [name] = silent;
    if (this.#isRestored && name !== undefined) {
      const others = silent.length > 1 ? `, nor have ${silent.length - 1} others` : "";
      const what = `The API server was restored, and node ${name} has not said since which slices it has${others}.`;
      const remedy = `Start its daemon; if the machine is off for good, holdfast slices release ${name} --yes-the-node-is-off`;
      return `${what} ${remedy}; if Holdfast no longer runs there, delete its Lease ${nodeLeaseName(name)}.`;
    }
    const [node] = this.#incomplete();
    return node ? `Node ${node} has more slices than its Lease can name, and not all of them are known.` : "";
  }

  get isWhole(): boolean {
    return this.hasWaited && !(this.#isRestored && this.#awaited().length > 0);
  }

  /** Every node that could speak has spoken, or had time to. */
  get hasWaited(): boolean {
    if (this.#options.clock.monotonicMs() >= this.#untilMs) return this.#hasHeard || this.#leased().length === 0;
    if (this.#hasWoken && !this.#hasHeard) return false;
    return !this.#isLost && this.#unheard !== undefined && this.#awaited().length === 0;
  }

  /** Nodes with a Lease that have not spoken in this term; after a restore also those that were silent at its begin. */
  #awaited(): string[] {
    if (this.#isRestored) return this.#leased();
    return [...(this.#unheard?.keys() ?? [])].filter((node) => this.#options.presence.isFresh(node));
  }

  /** Nodes that have not spoken in this term, have a Lease and are not fenced. */
  #leased(): string[] {
    const { caches, presence } = this.#options;
    const has = new Set(this.#unheard?.size ? [...caches.leases.list()].map((lease) => nodeOfLease(lease)) : []);
    return [...(this.#unheard?.keys() ?? [])].filter((node) => has.has(node) && presence.fenced(node) === undefined);
  }

  /** Of all nodes, or of the one of a Lease. */
  *forgotten(of?: DeepReadonly<Lease>): IterableIterator<ForgottenSlice> {
    const { caches, log, presence } = this.#options;
    for (const lease of of === undefined ? caches.leases.list() : [of]) {
      const node = nodeOfLease(lease);
      if (node === undefined) continue;
      // As a rule all of 50,000 slices have their objects: fencing is asked last.
      const said = this.#said(node, lease);
      // To this very node: a block that a restored status gives to another node may be this one's since.
      const isAssigned = (each: ForgottenSlice) => this.#poolOf(each.pool)?.assigned.has(allocationKey(each)) === true;
      const lost = said.slices.filter((each) => caches.slices.get(each.key) === undefined && !isAssigned(each));
      if (lost.length === 0 || presence.fenced(node) !== undefined) continue;
      const possible = lost.filter((each) => this.#isPossible(each));
      const wrong = lost.filter((each) => !this.#isPossible(each));
      if (wrong[0] !== undefined && this.#warned.get(node) !== said) {
        const what = `the Lease of node ${node} names ${counted(wrong.length, "slice")} that no pool can have, and they are ignored`;
        const { pool, block } = wrong[0];
        log.warn(`${what}: look at its daemon, and at who else writes that Lease`, { node, pool, block: `${block}` });
      }
      this.#warned.set(node, said);
      yield* possible;
    }
  }

  /** Addresses of the range that are some node's, and are in no known slice. */
  within({ namespace, network, range }: Omit<RangePlace, "pool">): Interval[] {
    const isOf = (each: ForgottenSlice) => each.namespace === namespace && each.network === network;
    const own = [...this.forgotten()].filter((each) => isOf(each) && overlaps(each.block, range));
    return [...Map.groupBy(own, ({ pool }) => pool)].flatMap(([pool, slices]) => [
      ...difference(
        slices.map(({ block }) => intervalOf(block)),
        this.#granted(pool),
      ),
    ]);
  }

  /** Root on a node writes its Lease: no more is believed than could be granted. A lost pool bounds nothing. */
  #isPossible({ pool, network, range, block }: ForgottenSlice): boolean {
    const known = this.#poolOf(pool);
    if (known === undefined) return containsPrefix(range, block);
    const isOfIt = (known.network ?? network) === network && containsPrefix(known.range, block);
    // A copy may be of before the slices grew.
    return isOfIt && (this.#isRestored || block.length >= known.sliceLength);
  }

  #poolOf(pool: string): ReadPool | undefined {
    const object = this.#options.caches.pools.get(pool);
    return object && readPool(object);
  }

  /** Blocks of a pool's grants, without lent ones. A grant older than its journal does not say what was lent since. */
  #granted(pool: string): Interval[] {
    return this.#options.caches.slices.byIndex("pool", pool).flatMap((object) => {
      const { block, grant, word } = readSlice(object) ?? {};
      if (block === undefined || grant === undefined || (word?.generation ?? 0) > grant.generation) return [];
      const whole = [intervalOf(block)];
      return grant.without.length === 0 ? whole : [...difference(whole, blocksOf(grant.without).map(intervalOf))];
    });
  }

  /** Nodes whose Lease names not all slices, while objects are made again; later, unnamed slices are not believed. */
  *#incomplete(): IterableIterator<string> {
    const { caches, presence, clock } = this.#options;
    for (const lease of caches.leases.list()) {
      const node = nodeOfLease(lease);
      const { slices = [], more = 0 } = node === undefined ? {} : this.#said(node, lease);
      if (node === undefined || more === 0 || presence.fenced(node) !== undefined) continue;
      if (clock.monotonicMs() >= this.#untilMs + hearMs.perSlice * Math.min(more, unnamedMost)) continue;
      if (caches.slices.byIndex("node", node).length < slices.length + more) yield node;
    }
  }

  #said(node: string, { metadata }: DeepReadonly<Lease>): Said {
    const text = metadata.annotations?.[journalAnnotation];
    const known = this.#read.get(node);
    if (known !== undefined && known.text === text) return known.said;
    const slices = readJournalSlices(text);
    const said = slices ? saidBy(node, slices) : { ...(known?.said ?? saidBy(node, noSlices)), isReadable: false };
    if (slices === undefined)
      this.#options.log.warn(`what the Lease of node ${node} says it has cannot be read`, { node });
    this.#read.set(node, { text, said });
    return said;
  }
}

interface Said extends Pick<JournalSlices, "more" | "restored" | "woke"> {
  readonly slices: readonly ForgottenSlice[];
  readonly isReadable: boolean;
}

const noSlices: JournalSlices = { slices: [], more: 0, restored: false, woke: false };

function saidBy(node: string, { slices, more, restored, woke }: JournalSlices): Said {
  const read = slices.flatMap(([namespace, network, rangeText, pool, blockText]): ForgottenSlice[] => {
    const [range, block] = [prefixOf(rangeText), prefixOf(blockText)];
    const name = block && attempt(ObjectError, () => poolName({ range: block, network, node }));
    if (range === undefined || block === undefined || name === undefined) return [];
    return [{ node, namespace, network, range, pool: `${namespace}/${pool}`, block, key: `${namespace}/${name}` }];
  });
  return { slices: read, more, restored, woke, isReadable: true };
}
