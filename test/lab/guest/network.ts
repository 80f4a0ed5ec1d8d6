// An Ethernet for guests: a network namespace with one bridge, taps for guests, and cables for programs of the machine.
//
// The namespace has no name and no way to the outside: it lives as long as its holder, a process that dies with this
// one, and takes its bridge, taps and cables along.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

import { run, script } from "../command.ts";
import { dyingWithParent, inNetworkOf, type Place } from "../place.ts";

const bridge = "br0";

export class GuestNetwork {
  readonly place: Place;
  /** As a path, for programs that enter it by themselves. */
  readonly netns: string;
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
    this.netns = `/proc/${holder.pid}/ns/net`;
    this.place = inNetworkOf(holder.pid!);
  }

  static async open(): Promise<GuestNetwork> {
    const setup = script([
      ["ip", "link", "add", bridge, "type", "bridge", "forward_delay", "0"],
      ["ip", "link", "set", bridge, "up"],
      ["echo", "ready"],
      ["exec", "sleep", "infinity"],
    ]);
    const [program = "", ...args] = dyingWithParent(["unshare", "--net", "--", ...setup]);
    const holder = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    let words = "";
    holder.stderr.on("data", (text) => (words += String(text)));
    await new Promise<void>((resolve, reject) => {
      holder.once("error", reject);
      holder.once("close", (code) => reject(new Error(`cannot make a network for guests (${code}): ${words}`)));
      holder.stdout.once("data", () => resolve());
    });
    return new GuestNetwork(holder);
  }

  async tap(name: string): Promise<void> {
    await this.#run(["ip", "tuntap", "add", "dev", name, "mode", "tap"], this.#join(name));
  }

  /** An interface of this name, whose other end is in the bridge. */
  async cable(name: string): Promise<void> {
    const port = `p-${name}`;
    await this.#run(
      ["ip", "link", "add", "name", name, "type", "veth", "peer", "name", port],
      ["ip", "link", "set", "dev", name, "up"],
      this.#join(port),
    );
  }

  async close(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const ended = once(this.#holder, "exit");
    this.#holder.kill("SIGKILL");
    await ended;
  }

  #join(name: string): string[] {
    return ["ip", "link", "set", "dev", name, "master", bridge, "up"];
  }

  async #run(...commands: readonly (readonly string[])[]): Promise<void> {
    await run(this.place.wrap(script(commands)));
  }
}
