// Many daemons in this process: the code of `holdfast node` with everything of its own, only not a process each.
//
// Each has its own client and connections, a token of the service account bound to its own pod and node, its own state
// and socket. Calls go through the socket, without a shim. Not promised: the memory of a thousand processes.
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { Registry } from "prom-client";

import type { Connection } from "../../src/kube/config/connect.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { makeLog } from "../../src/log/log.ts";
import { runDaemon } from "../../src/node/daemon.ts";
import { nodeMetrics } from "../../src/node/metrics.ts";
import { realMachine } from "../../src/node/real-machine.ts";
import type { Access } from "../../test/lab/rest.ts";
import { until } from "../../test/lab/wait.ts";
import type { Attachment, Command } from "./attachment.ts";
import { type BenchLab, connectAs, systemNamespace } from "./lab.ts";
import { eachAtOnce, makeIdentities } from "./population.ts";
import type { Reply } from "./reply.ts";
import { socketCall, socketStatus } from "./socket-call.ts";
import type { Traffic } from "./traffic.ts";

/** Its sandboxes are none of this kernel: nobody can be fenced. */
const { fencing: _fencing, ...machine } = realMachine;

interface Member {
  readonly socket: string;
  readonly state: string;
  readonly connection: Connection;
  /** Resolves when it has stopped, rejects when it failed. */
  readonly done: Promise<void>;
}

export interface FleetOptions {
  readonly cooldownSeconds?: number;
  /** Counts what the daemons say to the API server. */
  readonly traffic?: Traffic;
}

/** A node and who its daemon is to the API server. */
export interface FleetNode {
  readonly node: string;
  readonly access: Access;
}

export class Fleet implements AsyncDisposable {
  /** Key: node. */
  readonly #members = new Map<string, Member>();
  readonly #stop = new AbortController();

  /** Resolves when every daemon knows what its node holds, and would answer at once. */
  static async start(lab: BenchLab, nodes: readonly string[], options: FleetOptions = {}): Promise<Fleet> {
    const identities = await makeIdentities(lab, nodes);
    const folder = join(lab.cluster.folder, `fleet-${randomBytes(3).toString("hex")}`);
    return Fleet.of(
      nodes.map((node, index) => ({ node, access: identities[index]! })),
      folder,
      options,
    );
  }

  /** The same with identities that are there; `folder` is made, and gets a folder for each node. */
  static async of(nodes: readonly FleetNode[], folder: string, options: FleetOptions = {}): Promise<Fleet> {
    const fleet = new Fleet();
    mkdirSync(folder);
    try {
      await eachAtOnce(nodes, ({ node, access }, index) =>
        fleet.#join(node, access, join(folder, String(index)), options),
      );
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  async call(node: string, command: Command, attachment: Attachment, config: string): Promise<Reply> {
    return socketCall(this.#memberOf(node).socket, command, attachment, config);
  }

  /** Where the daemon of a node keeps what must survive it. */
  stateOf(node: string): string {
    return this.#memberOf(node).state;
  }

  #memberOf(node: string): Member {
    const member = this.#members.get(node);
    if (member === undefined) throw new Error(`the fleet has no daemon for ${node}`);
    return member;
  }

  async #join(node: string, access: Access, folder: string, options: FleetOptions): Promise<void> {
    const { cooldownSeconds = 30, traffic } = options;
    mkdirSync(folder);
    const userAgent = `holdfast-node/${node}`;
    const connection = connectAs(access, userAgent);
    const client =
      traffic === undefined
        ? connection.client
        : new KubeClient({ transport: traffic.counting(connection.transport), userAgent });
    const state = join(folder, "state");
    const socket = join(folder, "run", "cni.sock");
    const write = (line: string) => void process.stderr.write(`${line}\n`);
    const log = makeLog({ write, level: "warn", format: "text", now: Date.now }).with({ node });
    const done = runDaemon(
      {
        client,
        node,
        systemNamespace,
        socket,
        state,
        isolation: { isolated: false, globalNamespaces: ["default"] },
        cooldownMs: cooldownSeconds * 1000,
        metrics: nodeMetrics(new Registry()),
        ...machine,
        log,
      },
      this.#stop.signal,
    );
    let failure: unknown;
    done.catch((error: unknown) => (failure = error));
    this.#members.set(node, { socket, state, connection, done });
    await until(async () => failure !== undefined || (await socketStatus(socket)), { what: `the daemon of ${node}` });
    if (failure !== undefined) throw failure;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the benchmark is over"));
    const members = [...this.#members.values()];
    await Promise.allSettled(members.map(({ done }) => done));
    await Promise.all(members.map(({ connection }) => connection[Symbol.asyncDispose]()));
  }
}
