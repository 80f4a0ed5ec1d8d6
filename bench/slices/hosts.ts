// All daemons of a benchmark, dealt to processes.
import { join } from "node:path";

import type { Attachment, BenchPod, Command } from "../cni/attachment.ts";
import { figuresOf } from "../cni/figures.ts";
import type { BenchLab } from "../cni/lab.ts";
import { makeIdentities } from "../cni/population.ts";
import type { Reply } from "../cni/reply.ts";
import { type TrafficReading, trafficOfAll } from "../cni/traffic.ts";
import type { Held } from "./audit.ts";
import type { HostNetwork } from "./host-messages.ts";
import { Host } from "./host.ts";

/**
 * 1,250 daemons take about 5,000 descriptors (two connections, a socket and files each) of the usual 20,000, and 600
 * MiB. More processes than cores, so that one thread's work for many daemons delays fewer of them.
 */
const daemonsPerHost = 1250;
const fewestHosts = 2;

export interface HostsUsage {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly cpuMs: number;
  readonly descriptors: number;
  readonly traffic: TrafficReading;
}

export class Hosts implements AsyncDisposable {
  readonly #hosts: readonly Host[];
  /** Key: node. */
  readonly #hostOf: ReadonlyMap<string, Host>;

  private constructor(hosts: readonly Host[], hostOf: ReadonlyMap<string, Host>) {
    this.#hosts = hosts;
    this.#hostOf = hostOf;
  }

  /** Resolves when every daemon would answer. Their nodes must exist. */
  static async start(lab: BenchLab, nodes: readonly string[]): Promise<Hosts> {
    const identities = await makeIdentities(lab, nodes);
    const count = Math.max(fewestHosts, Math.ceil(nodes.length / daemonsPerHost));
    const all = Array.from({ length: count }, (_, index) => new Host(`daemons-${index}`));
    const hosts = new Hosts(all, new Map(nodes.map((node, index) => [node, all[index % count]!])));
    const members = nodes.map((node, index) => ({ node, access: identities[index]! }));
    try {
      await hosts.#each((host) =>
        host.ask("start", {
          folder: join(lab.cluster.folder, host.name),
          nodes: members.filter(({ node }) => hosts.#hostOf.get(node) === host),
        }),
      );
      return hosts;
    } catch (error) {
      await hosts[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Every pod in every network; `atOnce` pods of all, dealt evenly. */
  async roll(pods: readonly BenchPod[], networks: readonly HostNetwork[], atOnce: number) {
    const startedMs = performance.now();
    const each = Math.max(1, Math.ceil(atOnce / this.#hosts.length));
    const parts = await this.#each((host) =>
      host.ask("roll", { pods: pods.filter(({ node }) => this.#hostOf.get(node) === host), networks, atOnce: each }),
    );
    const wallMs = performance.now() - startedMs;
    return {
      wallMs,
      figures: figuresOf(
        parts.flatMap(({ tookMs }) => tookMs),
        wallMs,
      ),
      held: parts.flatMap(({ held }) => held),
      refused: parts.reduce((sum, { refused }) => sum + refused, 0),
      problems: [...new Set(parts.flatMap(({ problems }) => problems))],
    };
  }

  /** What it took is measured where the daemon is; the way there and back is not in it. */
  call(node: string, command: Command, attachment: Attachment, config: string): Promise<Reply> {
    const host = this.#hostOf.get(node);
    if (host === undefined) throw new Error(`no process has a daemon for ${node}`);
    return host.ask("call", { node, command, attachment, config });
  }

  async usage(collect: boolean): Promise<HostsUsage> {
    const all = await this.#each((host) => host.ask("measure", { collect }));
    const sum = (of: (each: (typeof all)[number]) => number) => all.reduce((total, each) => total + of(each), 0);
    return {
      rssBytes: sum(({ rssBytes }) => rssBytes),
      heapBytes: sum(({ heapBytes }) => heapBytes),
      cpuMs: sum(({ cpuMs }) => cpuMs),
      descriptors: sum(({ descriptors }) => descriptors),
      traffic: trafficOfAll(all.map(({ traffic }) => traffic)),
    };
  }

  /** Ends the daemons, and reads what their journals hold. */
  async end(): Promise<Held[]> {
    const ends = await this.#each((host) => host.ask("end", {}));
    const damaged = ends.reduce((sum, each) => sum + each.damaged, 0);
    if (damaged > 0) throw new Error(`${damaged} records of the journals are damaged`);
    return ends.flatMap(({ held }) => held);
  }

  #each<Result>(run: (host: Host) => Promise<Result>): Promise<Result[]> {
    return Promise.all(this.#hosts.map(run));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#each((host) => host[Symbol.asyncDispose]());
  }
}
