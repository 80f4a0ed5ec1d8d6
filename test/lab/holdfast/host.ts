// A host that is no cluster's node: Debian's plugins and our shim in namespaces of their own, our daemon beside them.
//
// Commands run in a network, mount and pid namespace with an idle init; /run, /dev/shm and /var/lib/cni are its own.
// The daemon runs on the machine, where it reaches the API server on loopback: shim and daemon meet in a socket file.
// Promised: nothing is left after stop(), nor after this process' death once the next cluster or host has started.
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { attempt, type CommandOptions, type CommandResult, run, script } from "../command.ts";
import { Component } from "../component.ts";
import { asNewNode, insideOf, onTheMachine } from "../place.ts";
import { reap, removeCluster } from "../reaper.ts";
import { StateFile } from "../state.ts";
import { holdfastCommand } from "./launch.ts";
import { givesAddresses, statusEveryMs } from "./request.ts";

export interface HostPlan {
  readonly kubeconfig: string;
  readonly nodeName: string;
  readonly nodeArgs?: readonly string[];
}

const debianPlugins = "/usr/lib/cni";
const privateFolders = ["/run", "/dev/shm", "/var/lib/cni"];
/** The wire that macvlans share: its other end is up and leads nowhere. */
export const wire = "wire0";

export async function startHost(plan: HostPlan): Promise<LabHost> {
  await reap().catch(() => {}); // what another one left is no reason not to start
  const state = new StateFile(`host-${randomBytes(4).toString("hex")}`);
  const host = new LabHost(state, plan);
  try {
    await host.begin();
    return host;
  } catch (error) {
    await host.stop();
    throw error;
  }
}

export class LabHost {
  readonly folder: string;
  /** CNI_PATH: Debian's plugins, and ours. */
  readonly bin: string;
  /** Where network configurations are put. */
  readonly configurations: string;
  readonly daemon: Component;
  readonly #state: StateFile;
  readonly #init: Component;

  constructor(state: StateFile, plan: HostPlan) {
    this.#state = state;
    this.folder = state.folder;
    this.bin = join(this.folder, "bin");
    this.configurations = join(this.folder, "net.d");
    const log = (name: string) => join(this.folder, `${name}.log`);
    const socket = join(this.folder, "run", "cni.sock");
    const init = {
      name: "host",
      command: ["sleep", "infinity"],
      place: asNewNode,
      isReady: async () => this.#hasBegun(),
    };
    this.#init = new Component({ ...init, logFile: log("host") }, state);
    this.daemon = new Component(
      {
        name: "holdfast node",
        command: holdfastCommand(
          "node",
          `--node-name=${plan.nodeName}`,
          `--kubeconfig=${plan.kubeconfig}`,
          `--socket=${socket}`,
          `--state=${join(this.folder, "state")}`,
          "--metrics-port=0",
          ...(plan.nodeArgs ?? []),
        ),
        place: onTheMachine,
        logFile: log("holdfast"),
        isReady: () => givesAddresses(socket),
        everyMs: statusEveryMs,
      },
      state,
    );
  }

  async begin(): Promise<void> {
    for (const folder of [this.bin, this.configurations]) mkdirSync(folder);
    for (const name of readdirSync(debianPlugins)) symlinkSync(join(debianPlugins, name), join(this.bin, name));
    const socket = join(this.folder, "run", "cni.sock");
    const places = [`--socket=${socket}`, `--spool=${join(this.folder, "state", "spool")}`];
    await run(holdfastCommand("cni", "install", `--bin-dir=${this.bin}`, "--name=holdfast", ...places));
    await this.#init.start();
    await this.exec(
      script([
        ["mount", "--make-rprivate", "/"],
        // Shim, socket and configurations stay in sight where the files of tests are below /dev/shm.
        ["mount", "--bind", this.folder, "/mnt"],
        ...privateFolders.flatMap((path) => [
          ["mkdir", "-p", path],
          ["mount", "-t", "tmpfs", "tmpfs", path],
        ]),
        ["mkdir", "-p", this.folder],
        ["mount", "--move", "/mnt", this.folder],
        ["mkdir", "-p", "/run/netns"],
        ["ip", "link", "set", "lo", "up"],
        ["ip", "link", "add", wire, "type", "veth", "peer", "name", `${wire}-end`],
        ["ip", "link", "set", wire, "up"],
        ["ip", "link", "set", `${wire}-end`, "up"],
      ]),
    );
    await this.daemon.start();
  }

  /** Before it becomes `sleep` it still mounts its own /proc, and what is mounted until then would be hidden. */
  #hasBegun(): boolean {
    return readFileSync(`/proc/${this.#init.pid}/comm`, "utf8").trim() === "sleep";
  }

  /** Its standard output, or an error with its words. */
  exec(command: readonly string[], options: CommandOptions = {}): Promise<string> {
    return run(this.#inside(command), options);
  }

  attempt(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    return attempt(this.#inside(command), options);
  }

  #inside(command: readonly string[]): string[] {
    if (this.#init.pid === undefined) throw new Error("the host has not begun");
    return insideOf(this.#init.pid).wrap(command);
  }

  /** A network namespace as a runtime makes one for a sandbox; its path, as the host sees it. */
  async makeSandbox(name: string): Promise<string> {
    await this.exec(["ip", "netns", "add", name]);
    return `/run/netns/${name}`;
  }

  stop(): Promise<void> {
    return removeCluster(this.#state.state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
