// One API server, one pool, and a controller that comes and goes: the steps of the benchmark of managed pools.
import * as kinds from "../../src/cluster/resources.ts";
import { type Connection, connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { shippedProgram } from "../shipped-program.ts";
import { ApiProcess } from "./api.ts";
import { type ControllerPlace, ControllerProcess, type Memory } from "./controller.ts";
import { network, poolSpec } from "./plan.ts";
import type { SeedPlan } from "./seeding.ts";

export interface Figures extends Memory {
  /** From its start: everything is listed. */
  readonly readyMs: number;
  /** From its start: the pool's status counts every binding. */
  readonly countedMs?: number;
  /** From its start: it has nothing left to do. */
  readonly restsMs: number;
  readonly cpuMs: number;
  /** Of its metrics, read once; and its memory after that. */
  readonly scrapeBytes: number;
  readonly scraped: Memory;
}

export interface Built extends Memory {
  /** From the request for the pool until its status says what is available. */
  readonly buildMs: number;
}

const at = { namespace: network.namespace, name: network.name };

export class PoolStage implements AsyncDisposable {
  readonly #place: ControllerPlace;
  readonly #api: ApiProcess;
  readonly #connection: Connection;

  private constructor(place: ControllerPlace, api: ApiProcess, connection: Connection) {
    this.#place = place;
    this.#api = api;
    this.#connection = connection;
  }

  /** `nodeOptions`: in place of the Deployment's. */
  static async set(folder: string, nodeOptions?: string): Promise<PoolStage> {
    const api = await ApiProcess.start(folder);
    const connection = connect(await loadKubeconfig({ path: api.kubeconfig }), { userAgent: "dhcp-pool" });
    const program = await shippedProgram(folder);
    return new PoolStage({ folder, program, kubeconfig: api.kubeconfig, nodeOptions }, api, connection);
  }

  seed(plan: SeedPlan): Promise<void> {
    return this.#api.seed(plan);
  }

  /** A controller in a cluster without a pool. */
  async bare(): Promise<Figures> {
    await using controller = await this.#controller();
    return await this.#figures(controller);
  }

  /** The network and its pool are made while the controller runs. */
  async build(): Promise<Built> {
    await using controller = await this.#controller();
    await controller.rest();
    const { client } = this.#connection;
    const config = JSON.stringify({ cniVersion: "1.0.0", name: network.name, type: "bridge" });
    await client.create(kinds.networkAttachmentDefinitions, { metadata: at, spec: { config } });
    const startedMs = performance.now();
    await client.create(kinds.managedPools, { metadata: at, spec: poolSpec });
    await controller.until("draw the pool", async () => (await this.#counts()).available !== undefined);
    const buildMs = Math.round(performance.now() - startedMs);
    await controller.rest();
    return { buildMs, ...controller.memory() };
  }

  /** Its status is set back before: a controller that has every binding writes it anew. */
  async restart(bindings: number): Promise<Figures> {
    const { client } = this.#connection;
    const status = { ipv4: { used: 0, available: 0, allocated: null } };
    const patch = { type: "merge", body: { status } } as const;
    await client.patch(kinds.managedPools, at, patch, { subresource: "status" });
    await using controller = await this.#controller();
    return await this.#figures(controller, bindings);
  }

  #controller(): Promise<ControllerProcess> {
    return ControllerProcess.start(this.#place);
  }

  async #figures(controller: ControllerProcess, bindings?: number): Promise<Figures> {
    const readyMs = performance.now() - controller.startedMs;
    const isCounted = async () => (await this.#counts()).used === bindings;
    const countedMs = bindings === undefined ? undefined : await controller.until("count the bindings", isCounted);
    const restsMs = await controller.rest();
    const { cpuMs } = controller;
    const memory = controller.memory();
    const scrapeBytes = await controller.scrape();
    return {
      readyMs: Math.round(readyMs),
      ...(countedMs !== undefined && { countedMs: Math.round(countedMs) }),
      restsMs: Math.round(restsMs),
      cpuMs,
      ...memory,
      scrapeBytes,
      scraped: controller.memory(),
    };
  }

  async #counts(): Promise<{ readonly used?: number; readonly available?: number }> {
    const pool = await this.#connection.client.get(kinds.managedPools, at);
    return pool.status?.ipv4 ?? {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
    await this.#api[Symbol.asyncDispose]();
  }
}
