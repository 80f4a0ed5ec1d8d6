// A daemon in this process, on any API server, with everything that a test wants to hold in its hand.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Registry } from "prom-client";

import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { type Log, silent } from "../../src/log/log.ts";
import type { DaemonOptions } from "../../src/node/context.ts";
import { runDaemon } from "../../src/node/daemon.ts";
import { nodeMetrics } from "../../src/node/metrics.ts";
import { realMachine } from "../../src/node/real-machine.ts";
import { type Ask, ask, askRaw, type Told } from "./shim.ts";

/** Its sandboxes are none of this kernel: who tests the fence brings one. */
const { fencing: _fencing, ...machine } = realMachine;

export interface DaemonFixtureOptions extends Partial<DaemonOptions> {
  readonly transport: Transport;
  readonly log?: Log;
}

export class DaemonFixture implements AsyncDisposable {
  readonly folder: string;
  readonly socket: string;
  readonly client: KubeClient;
  readonly registry = new Registry();
  /** Calls to the API server, as `POST 201`. Watches are not among them until they end. */
  readonly calls: string[] = [];
  readonly #options: DaemonFixtureOptions;
  readonly #metrics = nodeMetrics(this.registry);
  #stop = new AbortController();
  #ended: Promise<void> = Promise.resolve();

  constructor(options: DaemonFixtureOptions) {
    this.#options = options;
    this.folder = mkdtempSync(join(tmpdir(), "holdfast-node-"));
    this.socket = join(this.folder, "run", "cni.sock");
    this.client = new KubeClient({
      transport: options.transport,
      timeoutMs: 5000,
      observe: ({ method, status }) => void this.calls.push(`${method} ${status}`),
    });
  }

  static async start(options: DaemonFixtureOptions): Promise<DaemonFixture> {
    const daemonFixture = new DaemonFixture(options);
    await daemonFixture.start();
    return daemonFixture;
  }

  async start(): Promise<void> {
    this.#stop = new AbortController();
    const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
    const { transport: _, ...overrides } = this.#options;
    this.#ended = runDaemon(
      {
        client: this.client,
        node: "node1",
        systemNamespace: "kube-system",
        socket: this.socket,
        state: join(this.folder, "state"),
        isolation: { isolated: false, globalNamespaces: ["default"] },
        cooldownMs: 0,
        metrics: this.#metrics,
        ...machine,
        disk: { read: async () => undefined },
        folders: ["/etc/cni/net.d"],
        probe: async () => ({ duplicate: false }),
        log: silent,
        ...overrides,
        onListen: resolve,
      },
      this.#stop.signal,
    );
    this.#ended.catch(reject);
    await listening;
  }

  ask(asked: Ask): Promise<Told> {
    return ask(this.socket, asked);
  }

  raw(environment: Readonly<Record<string, string>>, stdin: string | Uint8Array): Promise<Told> {
    return askRaw(this.socket, environment, stdin);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true });
  }
}
