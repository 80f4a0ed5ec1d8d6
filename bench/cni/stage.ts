// Ours, ready to be measured: one node's daemon and, unless left out, the leader, each a process with its own account.
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { freePort } from "../../test/lab/port.ts";
import type { Access } from "../../test/lab/rest.ts";
import { ensureShim } from "../../tools/shim/ensure.ts";
import { type HoldfastProcess, startController, startDaemon } from "./daemon.ts";
import type { BenchLab } from "./lab.ts";
import { controllerIdentity, makeIdentities, makeNodes } from "./population.ts";
import { socketStatus } from "./socket-call.ts";

export interface StageOptions {
  readonly controller: boolean;
  readonly node?: string;
}

export class Stage implements AsyncDisposable {
  readonly node: string;
  readonly socket: string;
  readonly shim: string;
  /** The daemon's identity. */
  readonly access: Access;
  /** Folder of what must survive the daemon. */
  readonly state: string;
  readonly #processes: HoldfastProcess[];

  private constructor(
    parts: { node: string; socket: string; shim: string; access: Access; state: string },
    all: HoldfastProcess[],
  ) {
    this.node = parts.node;
    this.socket = parts.socket;
    this.shim = parts.shim;
    this.access = parts.access;
    this.state = parts.state;
    this.#processes = all;
  }

  /** A daemon that has just started, on a node of its own. */
  static async set(lab: BenchLab, { controller, node = "stage" }: StageOptions): Promise<Stage> {
    const folder = join(lab.cluster.folder, node);
    mkdirSync(folder);
    const { path: shim } = await ensureShim({ native: true, log: lab.log });
    await makeNodes(lab, [node]);
    const [access] = (await makeIdentities(lab, [node])) as [Access];
    const socket = join(folder, "run", "cni.sock");
    const daemon = startDaemon({ node, socket, access, folder: join(folder, "node"), metricsPort: await freePort() });
    const stage = new Stage({ node, socket, shim, access, state: daemon.state }, [daemon]);
    try {
      await daemon.ready(() => socketStatus(socket));
      return controller ? await stage.#withController(lab, folder) : stage;
    } catch (error) {
      await stage[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #withController(lab: BenchLab, folder: string): Promise<Stage> {
    this.#processes.push(await runController(lab, join(folder, "controller")));
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((each) => each[Symbol.asyncDispose]()));
  }
}

/** The leader, ready; it serves its metrics on the port. */
export async function runController(
  lab: BenchLab,
  folder: string,
): Promise<HoldfastProcess & { readonly metricsPort: number }> {
  const metricsPort = await freePort();
  const controller = startController({ access: await controllerIdentity(lab), folder, metricsPort });
  await controller.ready(async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).ok);
  return Object.assign(controller, { metricsPort });
}
