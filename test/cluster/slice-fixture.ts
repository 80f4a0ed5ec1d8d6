// What the tests of sliced networks on real nodes share: a cluster with Holdfast, and two sides of the truth about its
// addresses: the kernels of the nodes, and the books of the API server.
import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { parseAddress } from "../../src/net/address.ts";
import { contains } from "../../src/net/prefix.ts";
import type { Cluster } from "../lab/cluster.ts";
import { kernelAddresses, statusesOf } from "../lab/holdfast/addresses.ts";
import { type HoldfastOptions, type LabHoldfast, runHoldfast } from "../lab/holdfast/holdfast.ts";
import { Sampler } from "../lab/holdfast/sampler.ts";
import type { LabNode } from "../lab/node.ts";
import type { ObservedPod } from "../lab/pods.ts";
import { cluster } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { dangers, unfinished, unmatched } from "../slices/audit.ts";
import { type Books, type PoolBook, readBooks } from "../slices/books.ts";

/** Deployments of some ten pods take about 15 s on two idle cores; ten times that for a busy machine. */
export const storyMs = 240_000;

export class SliceFixture {
  readonly lab: Cluster;
  readonly holdfast: LabHoldfast;
  readonly sampler: Sampler;
  readonly #connection: Connection;

  private constructor(lab: Cluster, holdfast: LabHoldfast, connection: Connection) {
    this.lab = lab;
    this.holdfast = holdfast;
    this.sampler = new Sampler(lab);
    this.#connection = connection;
  }

  static async open(options: HoldfastOptions = {}): Promise<SliceFixture> {
    const lab = await cluster({ nodes: 3, log: console.error });
    try {
      const holdfast = await runHoldfast(lab, {
        cooldownSeconds: 0,
        controllerArgs: [
          "--observe-seconds=5",
          "--superseded-seconds=5",
          "--cooldown-seconds=0",
          "--fence-silence-seconds=30",
        ],
        ...options,
      });
      return new SliceFixture(lab, holdfast, connect(await loadKubeconfig({ path: lab.kubeconfig })));
    } catch (error) {
      await lab.stop();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.sampler.stop();
    await this.#connection[Symbol.asyncDispose]();
    await this.lab.stop();
  }

  node(name: string): LabNode {
    const found = this.lab.nodes.find((each) => each.name === name);
    if (found === undefined) throw new Error(`the lab has no ${name}`);
    return found;
  }

  books(): Promise<Books> {
    return readBooks(this.#connection.client);
  }

  /** The NodeSlicePool of the range, when it is as the question wants it. */
  pool(range: string, fits: (pool: PoolBook) => boolean = () => true): Promise<PoolBook> {
    return until(
      async () => {
        const found = (await this.books()).pools.find((each) => String(each.range) === range);
        return found !== undefined && fits(found) && found;
      },
      { what: `the NodeSlicePool of ${range}`, everyMs: 300 },
    );
  }

  /** Whether the address is of a slice that the node has. */
  static isOwn({ slices }: Books, node: string, address: string): boolean {
    return slices.some((each) => each.node === node && contains(each.slice, parseAddress(address)));
  }

  /** Waits until what the kernels have in sandboxes is exactly what is on record, and nothing is on its way. */
  async settled(count: number): Promise<Books> {
    return until(
      async () => {
        const views = await Promise.all(this.lab.nodes.map(kernelAddresses));
        const kernel = new Set(views.flat().map(({ address }) => String(parseAddress(address))));
        const books = await this.books();
        const entries = [...books.slices.flatMap((slice) => slice.entries), ...books.shared];
        const recorded = new Set(entries.map(({ address }) => String(address)));
        const wrong = [
          ...dangers(books, []),
          ...unmatched(books),
          ...unfinished(books),
          ...[...kernel.difference(recorded)].map((address) => `${address} is in a sandbox and on no record`),
          ...[...recorded.difference(kernel)].map((address) => `${address} is on record and in no sandbox`),
          ...(kernel.size === count ? [] : [`${kernel.size} addresses are in sandboxes, not ${count}`]),
        ];
        if (wrong.length === 0) return books;
        throw new Error(wrong.join("\n"));
      },
      { what: `${count} addresses in sandboxes and on record`, everyMs: 500, timeoutMs: storyMs },
    );
  }
}

/** The addresses that a pod was told for a network of its namespace. */
export const ipsOf = (pod: ObservedPod, network: string) =>
  statusesOf(pod).find(({ name }) => name === `default/${network}`)?.ips ?? [];

/** What was said about an object, as `reason: message`. */
export async function eventsAbout(lab: Cluster, name: string, namespace = "default"): Promise<string[]> {
  const path = `/api/v1/namespaces/${namespace}/events?fieldSelector=involvedObject.name%3D${name}`;
  const { items } = await lab.rest.get<{ items: { reason: string; message: string }[] }>(path);
  return items.map(({ reason, message }) => `${reason}: ${message}`);
}
