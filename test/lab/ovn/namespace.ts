// A network namespace without a name: it lives as long as its holder, a process that dies with this one, and takes its
// links along. Pods, nodes, the wire between them and the world outside are each one.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

import { run, script } from "../command.ts";
import { dyingWithParent, inNetworkOf, type Place } from "../place.ts";
import type { StateFile } from "../state.ts";

export type Command = readonly string[];

export class Namespace {
  readonly name: string;
  readonly pid: number;
  readonly place: Place;
  readonly #holder: ChildProcess;

  private constructor(name: string, holder: ChildProcess) {
    this.name = name;
    this.pid = holder.pid!;
    this.#holder = holder;
    this.place = inNetworkOf(this.pid);
  }

  static async open(state: StateFile, name: string, commands: readonly Command[] = []): Promise<Namespace> {
    const setup = script([
      ["ip", "link", "set", "lo", "up"],
      ...commands,
      ["echo", "ready"],
      ["exec", "sleep", "infinity"],
    ]);
    const [program = "", ...args] = dyingWithParent(["unshare", "--net", "--", ...setup]);
    const holder = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
    let words = "";
    holder.stderr.on("data", (text) => (words += String(text)));
    if (holder.pid !== undefined) state.recordProcess(`namespace ${name}`, holder.pid);
    await new Promise<void>((resolve, reject) => {
      holder.once("error", reject);
      holder.once("close", (code) => reject(new Error(`cannot make the namespace ${name} (${code}): ${words}`)));
      holder.stdout.once("data", () => resolve());
    });
    return new Namespace(name, holder);
  }

  /** One after the other, up to the first that fails. */
  async run(...commands: readonly Command[]): Promise<string> {
    return await run(this.place.wrap(script(commands)));
  }

  /** One end here, the other there. Checksums are whole on both: Open vSwitch's userspace takes no others. */
  async cable(name: string, other: Namespace, otherName: string, mtu: number): Promise<void> {
    const size = ["mtu", String(mtu)];
    await this.run(
      ["ip", "link", "add", name, ...size, "type", "veth", "peer", "name", otherName, ...size, "netns", `${other.pid}`],
      ["ip", "link", "set", name, "up"],
      ["ethtool", "-K", name, "tx", "off"],
    );
    await other.run(["ip", "link", "set", otherName, "up"], ["ethtool", "-K", otherName, "tx", "off"]);
  }

  async close(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const ended = once(this.#holder, "exit");
    this.#holder.kill("SIGKILL");
    await ended;
  }
}
