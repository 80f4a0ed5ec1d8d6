// How long each node has been silent, as this process hears it: its daemon renews a Lease, its kubelet reports. Runs on
// every replica of the controller: a new leader has listened already. Promised: time is silence only while somebody was
// heard. Where no Lease at all is renewed (the API server is away, this process slept, a watch hangs) every silence
// begins anew. Not promised: freshness; before a release one asks again.
import { nodeLeaseName } from "../api/slices/node-lease.ts";
import type { Informer, InformerEvent } from "../kube/cache/informer.ts";
import type { Clock } from "../kube/clock.ts";
import type { Lease } from "../kube/lease.ts";
import type { DeepReadonly, KubeObject } from "../kube/meta.ts";
import type { FenceRules, NodeSigns, Standing } from "./fencing.ts";
import { fencedWhy, freshMs, isReady, nodeOfLease, renewTimeOf, standingOf } from "./fencing.ts";
import { leases, type Node, nodes } from "./resources.ts";
import type { ClusterAccess } from "./state.ts";

type Followed<T extends KubeObject> = Pick<Informer<T>, "cache" | "handle">;

export interface PresenceOptions {
  readonly nodes: Followed<Node>;
  /** All of the system namespace, with the index `node`: leaders renew theirs every few seconds. */
  readonly leases: Followed<Lease>;
  readonly clock: Clock;
  readonly rules: FenceRules;
}

/** Share of the time without any Lease after which we are deaf. The rest, 2 of 5 minutes, is enough to renew one. */
const deafShare = 0.6;
const lookEveryMs = 10_000;

type Read<T> = DeepReadonly<T> | undefined;
export type Judge = (name: string, node: Read<Node>, lease: Read<Lease>) => Standing;

export interface Asking extends ClusterAccess {
  readonly judge: Judge;
}

/** By what the server says now. Throws where it does not answer. */
export async function askStanding(asking: ClusterAccess, judge: Judge, name: string): Promise<Standing> {
  const { client, systemNamespace: namespace, signal } = asking;
  const node = await client.lookUp(nodes, { name }, { signal });
  return judge(name, node, await client.lookUp(leases, { namespace, name: nodeLeaseName(name) }, { signal }));
}

export class Presence {
  readonly #options: PresenceOptions;
  /** Node -> renewTime as it stands on its Lease, and when that was first seen. */
  readonly #renewed = new Map<string, { readonly renewTime: string; readonly ms: number }>();
  /** Node -> when its kubelet stopped to report. */
  readonly #reported = new Map<string, number>();
  /** Node -> when it was deleted, under our eyes. */
  readonly #deleted = new Map<string, number>();
  /** From when to when Leases were heard without a gap. */
  #heard = { fromMs: Number.POSITIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY };
  readonly #listeners = new Set<(node: string) => void>();
  /** Node -> what listeners were told. */
  readonly #told = new Map<string, Standing>();
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(options: PresenceOptions) {
    this.#options = options;
    options.nodes.handle((event) => this.#onNode(event));
    options.leases.handle((event) => this.#onLease(event));
  }

  /** Told of a node whose standing has changed. The returned function ends it. */
  handle(listener: (node: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  of(node: string): Standing {
    return standingOf(this.#signs(node), this.#options.rules);
  }

  /** In a sentence why its slices may go to others; undefined: it may hand out of them. */
  fenced(node: string): string | undefined {
    return fencedWhy(this.#signs(node), this.#options.rules);
  }

  isFresh(node: string): boolean {
    const seen = this.#renewed.get(node);
    return seen !== undefined && seen.renewTime !== "" && this.#nowMs - seen.ms < freshMs;
  }

  get isAlone(): boolean {
    return this.#options.nodes.cache.keys().next().done === true;
  }

  silentMs(node: string): number {
    const { fromMs, untilMs } = this.#heard;
    return Math.max(0, untilMs - Math.max(fromMs, this.#renewed.get(node)?.ms ?? 0, this.#reported.get(node) ?? 0));
  }

  /** The same of a node and a Lease as they were just read. */
  readonly judge: Judge = (name, node, lease) => {
    if (lease !== undefined) this.saw(lease);
    return standingOf({ ...this.#signs(name), node, lease }, this.#options.rules);
  };

  /** The first sight counts as a renewal: what was before is not known. */
  saw(lease: DeepReadonly<Lease>): void {
    const node = nodeOfLease(lease);
    const renewTime = renewTimeOf(lease);
    if (node === undefined || this.#renewed.get(node)?.renewTime === renewTime) return;
    this.#renewed.set(node, { renewTime, ms: this.#nowMs });
  }

  get #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  #signs(name: string): NodeSigns {
    const { nodes: known, leases: all, clock } = this.#options;
    const [node, lease] = [known.cache.get(name), all.cache.byIndex("node", name)[0]];
    const deletedMs = this.#nowMs - (this.#deleted.get(name) ?? this.#nowMs);
    return { node, lease, silentMs: this.silentMs(name), deletedMs, isAlone: this.isAlone, wallMs: clock.wallMs() };
  }

  #onLease({ type, object }: InformerEvent<Lease>): void {
    const { silentMs, quarantineMs } = this.#options.rules;
    const { fromMs, untilMs } = this.#heard;
    const nowMs = this.#nowMs;
    this.#heard = { fromMs: nowMs - untilMs < deafShare * silentMs ? fromMs : nowMs, untilMs: nowMs };
    const node = nodeOfLease(object) ?? "";
    const seen = this.#renewed.get(node);
    if (type !== "delete") this.saw(object);
    // The machine does not delete its Lease: silence goes on until a living daemon makes it anew.
    else if (seen !== undefined) this.#renewed.set(node, { renewTime: "", ms: seen.ms });
    if (nowMs - this.#lookedMs < lookEveryMs) return;
    this.#lookedMs = nowMs;
    const leased = [...this.#options.leases.cache.list()].flatMap((lease) => nodeOfLease(lease) ?? []);
    const names = new Set([...this.#options.nodes.cache.keys(), ...leased]);
    this.#tell(names);
    for (const name of this.#renewed.keys()) {
      if (names.has(name) || this.of(name) !== "fenced") continue;
      // A node without Node and Lease counts as silent for as long as this process has listened.
      this.#tell([name]);
      for (const each of [this.#renewed, this.#reported, this.#told]) each.delete(name);
    }
    for (const [each, ms] of this.#deleted) if (nowMs - ms > 2 * quarantineMs) this.#deleted.delete(each);
  }

  #onNode(event: InformerEvent<Node>): void {
    const { name = "" } = event.object.metadata;
    const before = event.type === "update" ? event.previous : event.object;
    if (event.type !== "add" && isReady(before)) this.#reported.set(name, this.#nowMs);
    if (event.type === "delete") this.#deleted.set(name, this.#nowMs);
    else this.#deleted.delete(name);
    this.#tell([name]);
  }

  #tell(names: Iterable<string>): void {
    if (this.#listeners.size === 0) return;
    for (const name of names) {
      const standing = this.of(name);
      if (this.#told.get(name) === standing) continue;
      this.#told.set(name, standing);
      for (const listener of this.#listeners) listener(name);
    }
  }
}
