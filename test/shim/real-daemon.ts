// `holdfast node` in a process of its own, on the embedded API behind TLS: what a shim meets on a node.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parseAllDocuments } from "yaml";

import { type Api, openApi } from "../../src/apiserver/api.ts";
import { serve, type Served } from "../../src/apiserver/serve/server.ts";
import { reservations } from "../../src/cluster/resources.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { tellState } from "../ledger/told-state.ts";

const checkout = join(import.meta.dirname, "..", "..");
const definitions = defineResource({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

export class RealDaemon implements AsyncDisposable {
  readonly socket: string;
  readonly spool: string;
  readonly #folder: string;
  readonly #api: Api;
  readonly #served: Served;
  #child: ChildProcess | undefined;
  /** What the daemon said on stderr: shown where it does not start. */
  #words = "";

  private constructor(folder: string, api: Api, served: Served) {
    this.#folder = folder;
    this.#api = api;
    this.#served = served;
    this.socket = join(folder, "run", "cni.sock");
    this.spool = join(folder, "state", "spool");
  }

  static async start(): Promise<RealDaemon> {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-daemon-"));
    const api = openApi({ path: ":memory:" });
    await applyDefinitions(api);
    await tellState(new KubeClient({ transport: api.transport }));
    const served = await serve(api, { kubeconfigPath: join(folder, "kubeconfig") });
    const daemon = new RealDaemon(folder, api, served);
    await daemon.startProcess();
    return daemon;
  }

  /** Returns when it listens. */
  async startProcess(): Promise<void> {
    const flags = ["--node-name", "node1", "--kubeconfig", join(this.#folder, "kubeconfig"), "--socket", this.socket];
    flags.push("--state", join(this.#folder, "state"), "--cooldown-seconds", "0");
    flags.push("--metrics-port", "0", "--metrics-host", "127.0.0.1");
    const child = spawn(process.execPath, [join(checkout, "bin", "holdfast.ts"), "node", ...flags], {
      stdio: ["ignore", "inherit", "pipe"],
    });
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        this.#words += text;
        if (this.#words.includes('"listening"')) resolve();
      });
      child.once("exit", (status) => reject(new Error(`the daemon ended with ${status}: ${this.#words}`)));
    });
    this.#words = "";
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const ended = new Promise((resolve) => child.once("close", resolve));
    child.kill(signal);
    await ended;
  }

  /** The addresses that are recorded as held, by name of the object. */
  async held(): Promise<string[]> {
    const client = new KubeClient({ transport: this.#api.transport });
    const { items } = await client.list(reservations, { namespace: "kube-system" });
    return items.map(({ metadata }) => metadata.name ?? "").sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill("SIGKILL");
    await this.#served.close();
    this.#api.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function applyDefinitions(api: Api): Promise<void> {
  const client = new KubeClient({ transport: api.transport });
  const folder = join(checkout, "deploy", "crds");
  for (const file of readdirSync(folder)) {
    for (const document of parseAllDocuments(readFileSync(join(folder, file), "utf8"))) {
      const object = document.toJS() as KubeObject;
      if (object.kind === "CustomResourceDefinition") await client.create(definitions, object);
    }
  }
  await api.settled();
}
