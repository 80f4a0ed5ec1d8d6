// cnitool on a node: ADD and DEL in the test's own sandboxes, where without an API server nothing can be scheduled.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ensureKubeBinaries } from "../../tools/kube/build.ts";
import { attempt, type CommandResult } from "../lab/command.ts";
import type { CniResult } from "../lab/networks/status.ts";
import type { LabNode } from "../lab/node.ts";
import { insideOf } from "../lab/place.ts";
import { until } from "../lab/wait.ts";

export class NodeTool {
  readonly node: LabNode;
  readonly #program: string;
  readonly #network: string;
  #number = 0;
  /** Why the last ADD that was refused was. */
  lastWords = "";
  /** Sandboxes that have an address. Key: name. */
  readonly living = new Map<string, string>();

  private constructor(node: LabNode, program: string, network: string) {
    this.node = node;
    this.#program = program;
    this.#network = network;
  }

  static async of(node: LabNode, config: object): Promise<NodeTool> {
    const binaries = await ensureKubeBinaries({ only: ["cnitool"] });
    const { cniVersion, name, ...plugin } = config as { cniVersion: string; name: string };
    const folder = configurationsOf(node);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.conflist`), JSON.stringify({ cniVersion, name, plugins: [plugin] }));
    return new NodeTool(node, binaries.path("cnitool"), name);
  }

  /** A sandbox with an address; undefined where the daemon said no, and then nothing is left of it. */
  async add(): Promise<string | undefined> {
    const sandbox = `${this.#network}-${this.node.name}-${++this.#number}`;
    await this.node.exec(["ip", "netns", "add", sandbox]);
    const { status, stdout, stderr } = await this.#call("add", sandbox);
    if (status !== 0) {
      this.lastWords = `${stdout} ${stderr}`;
      await this.#remove(sandbox);
      return undefined;
    }
    const [{ address } = { address: "" }] = (JSON.parse(stdout) as CniResult).ips ?? [];
    this.living.set(sandbox, address.split("/")[0] ?? "");
    return address;
  }

  /** As a runtime: until there is one. */
  surely(): Promise<string> {
    const ask = async () => {
      const address = await this.add();
      if (address === undefined) throw new Error(this.lastWords);
      return address;
    };
    return until(ask, { what: `an address on ${this.node.name}`, everyMs: 500 });
  }

  /** The oldest sandbox goes. */
  async del(): Promise<void> {
    const [sandbox] = this.living.keys();
    if (sandbox === undefined) return;
    this.living.delete(sandbox);
    await this.#remove(sandbox);
  }

  /** A power cut took the sandboxes; a runtime cleans up after it. */
  async delAllAfterPowerCut(): Promise<void> {
    for (const sandbox of this.living.keys()) {
      this.living.delete(sandbox);
      await this.node.exec(["sh", "-c", `[ -e /run/netns/${sandbox} ] || ip netns add ${sandbox}`]);
      await this.#remove(sandbox);
    }
  }

  /** As a runtime: again until it is answered. */
  async #remove(sandbox: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      const { status, stdout } = await this.#call("del", sandbox);
      if (status === 0) break;
      if (tries === triesMax) throw new Error(`DEL of ${sandbox} on ${this.node.name} fails: ${stdout}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    await this.node.exec(["ip", "netns", "del", sandbox]);
  }

  #call(command: "add" | "del", sandbox: string): Promise<CommandResult> {
    const words = [this.#program, command, this.#network, `/run/netns/${sandbox}`];
    return attempt(insideOf(this.node.pid).wrap(words), {
      env: {
        PATH: process.env["PATH"],
        CNI_PATH: "/opt/cni/bin",
        NETCONFPATH: configurationsOf(this.node),
        CNI_IFNAME: "net1",
        // A container of the node and no pod, as podman has them: nobody looks for it in the API.
        CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAME=${sandbox}`,
      },
    });
  }
}

/** A minute: a daemon that was killed is back after a few seconds. */
const triesMax = 120;

const configurationsOf = (node: LabNode) => join(node.folder, "tool-net.d");
