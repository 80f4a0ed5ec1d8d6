// How far the cluster is, as its objects tell: slices granted, taken by their nodes, and entries mirrored.
//
// The administrator's watch of two kinds: one more reader for the API server, as `kubectl get -w` would be.
import { setTimeout as sleep } from "node:timers/promises";

import { ipPools, leases, type StoredPool } from "../../src/cluster/resources.ts";
import { Informer } from "../../src/kube/cache/informer.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { plus } from "../../src/net/address.ts";
import { parseCidr } from "../../src/net/prefix.ts";
import { type BenchLab, systemNamespace } from "../cni/lab.ts";
import type { Held } from "./audit.ts";

/** The names as docs/decisions/0013 has them: written by hand, as a reader of the objects would. */
const sliceLabel = "holdfast.io/slice";
const annotationOf = (object: KubeObject, name: string) => object.metadata.annotations?.[`holdfast.io/${name}`] ?? "";

interface SliceState {
  readonly isTaken: boolean;
  readonly entries: number;
}

/** 50,000 slices on two busy cores may take long; but for so long without one more, something is wrong. */
const stallMs = 300_000;
const lookMs = 20;

export class SliceWatch implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #pools: Informer<StoredPool>;
  readonly #running: Promise<unknown>;
  /** Key: name of the object. */
  readonly #slices = new Map<string, SliceState>();
  /** Key: name of the Lease; how many slices it names. */
  readonly #granted = new Map<string, number>();

  constructor(lab: BenchLab) {
    const client = lab.admin;
    this.#pools = new Informer({ client, resource: ipPools, scope: { labelSelector: `${sliceLabel}=true` } });
    this.#pools.handle(({ type, object }) => {
      const name = object.metadata.name ?? "";
      if (type === "delete") this.#slices.delete(name);
      else this.#slices.set(name, stateOf(object as StoredPool));
    });
    const nodeLeases = new Informer({ client, resource: leases, scope: { namespace: systemNamespace } });
    nodeLeases.handle(({ type, object }) => {
      const name = object.metadata.name ?? "";
      if (type === "delete") this.#granted.delete(name);
      else this.#granted.set(name, grantsOf(object as KubeObject));
    });
    const { signal } = this.#stop;
    this.#running = Promise.all([this.#pools.run(signal), nodeLeases.run(signal)]);
  }

  /** Until so many Leases name so many slices each. */
  async granted(nodes: number, slicesEach: number): Promise<void> {
    const count = () => this.#granted.values().reduce((sum, slices) => sum + Math.min(slices, slicesEach), 0);
    await this.#until(`${slicesEach} slices on the Lease of each of ${nodes} nodes`, count, nodes * slicesEach);
  }

  /** Until so many slices are their nodes' by the nodes' own word. */
  async taken(slices: number): Promise<void> {
    const count = () => this.#slices.values().reduce((sum, { isTaken }) => sum + (isTaken ? 1 : 0), 0);
    await this.#until(`${slices} slices that their nodes have taken`, count, slices);
  }

  /** Until so many addresses stand in the objects. */
  async mirrored(entries: number): Promise<void> {
    const count = () => this.#slices.values().reduce((sum, slice) => sum + slice.entries, 0);
    await this.#until(`${entries} addresses in the objects of slices`, count, entries);
  }

  /** What the objects say now, read anew. */
  static async mirrors(lab: BenchLab): Promise<Held[]> {
    const { items } = await lab.admin.list(ipPools, { labelSelector: `${sliceLabel}=true` });
    return items.flatMap(entriesOf);
  }

  /** Counts until there are so many, and gives up when there come no more. */
  async #until(what: string, count: () => number, wanted: number): Promise<void> {
    let [last, changedMs] = [count(), performance.now()];
    while (last < wanted) {
      await sleep(lookMs);
      const now = count();
      if (now !== last) [last, changedMs] = [now, performance.now()];
      else if (performance.now() - changedMs > stallMs) {
        throw new Error(`gave up waiting for ${what}: there are ${last}, and none came for ${stallMs / 1000} s`);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("seen enough"));
    await this.#running;
  }
}

/** Taken: the node's word is about the grant that stands there. */
function stateOf(pool: StoredPool): SliceState {
  const { generation } = read<{ generation?: number }>(annotationOf(pool, "grant"));
  const word = read<{ generation?: number }>(annotationOf(pool, "node-word"));
  return {
    isTaken: generation !== undefined && word.generation === generation,
    entries: Object.keys(pool.spec.allocations ?? {}).length,
  };
}

function grantsOf(lease: KubeObject): number {
  return Object.keys(read<{ grants?: object }>(annotationOf(lease, "slices")).grants ?? {}).length;
}

function entriesOf(pool: StoredPool): Held[] {
  const { address } = parseCidr(pool.spec.range);
  return Object.entries(pool.spec.allocations ?? {}).map(([offset, { podref, ifname }]) => ({
    node: annotationOf(pool, "node"),
    network: annotationOf(pool, "network-name"),
    address: String(plus(address, BigInt(offset))),
    owner: `${podref} ${ifname ?? ""}`,
  }));
}

function read<T extends object>(text: string): Partial<T> {
  return text === "" ? {} : (JSON.parse(text) as Partial<T>);
}
