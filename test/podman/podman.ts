// Podman with its CNI backend inside a lab's host: storage, locks and network of its own; the lab's image; runc.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { cgroupFolders, removeCgroup } from "../lab/cgroup.ts";
import type { LabHost } from "../lab/holdfast/host.ts";
import { busyboxImage, ensureImages } from "../lab/images.ts";
import { until } from "../lab/wait.ts";

export interface ContainerNetwork {
  readonly IPAddress: string;
  readonly IPPrefixLen: number;
  readonly Gateway: string;
  readonly GlobalIPv6Address: string;
  readonly MacAddress: string;
}

export class Podman {
  readonly #host: LabHost;
  readonly #command: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #cgroup: string;

  private constructor(host: LabHost, folder: string, configuration: string) {
    this.#host = host;
    this.#cgroup = `holdfast-podman-${process.pid}`;
    this.#environment = { PATH: process.env["PATH"], HOME: folder, CONTAINERS_CONF: configuration };
    const root = join(folder, "storage");
    this.#command = [
      "podman",
      "--root",
      root,
      "--runroot",
      "/run/podman",
      "--tmpdir",
      "/run/podman-tmp",
      "--storage-driver",
      "vfs",
    ];
  }

  static async start(host: LabHost): Promise<Podman> {
    const folder = join(host.folder, "podman");
    mkdirSync(folder);
    const configuration = join(folder, "containers.conf");
    writeFileSync(
      configuration,
      `[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
runtime = "runc"
[network]
network_backend = "cni"
cni_plugin_dirs = ["${host.bin}"]
network_config_dir = "${host.configurations}"
`,
    );
    const podman = new Podman(host, folder, configuration);
    const { archive } = await ensureImages();
    await podman.call("load", "--quiet", "--input", archive);
    return podman;
  }

  call(...args: readonly string[]): Promise<string> {
    return this.#host.exec([...this.#command, ...args], { env: this.#environment });
  }

  /** An idle container. Limits are given because podman's own need rights that a small machine may not have. */
  async run(name: string, network: string, ...args: readonly string[]): Promise<void> {
    const limits = [
      "--ulimit",
      "nofile=1024:1024",
      "--ulimit",
      "nproc=1024:1024",
      "--cgroup-parent",
      `/${this.#cgroup}`,
    ];
    const what = ["--entrypoint", "sleep", busyboxImage, "1000"];
    await this.call("run", "--detach", "--name", name, "--network", network, ...limits, ...args, ...what);
  }

  async network(name: string, network: string): Promise<ContainerNetwork> {
    const text = await this.call("inspect", name, "--format", "{{json .NetworkSettings.Networks}}");
    const found = (JSON.parse(text) as Record<string, ContainerNetwork>)[network];
    if (found === undefined) throw new Error(`${name} is not in the network ${network}: ${text}`);
    return found;
  }

  async remove(...names: readonly string[]): Promise<void> {
    await this.call("rm", "--force", "--time", "0", ...names);
  }

  /** What podman leaves in the machine's control groups. */
  async stop(): Promise<void> {
    await this.call("rm", "--all", "--force", "--time", "0");
    for (const folder of cgroupFolders(this.#cgroup)) {
      await until(async () => (removeCgroup(folder), true), { what: `cgroup ${folder} to be empty`, everyMs: 20 });
    }
  }
}
