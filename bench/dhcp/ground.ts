// Where the DHCP benchmark runs: two namespaces with one cable between them, a server in one and the load in the other.
// Nothing of it is left after `remove`.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { attempt, run, script } from "../../test/lab/command.ts";
import { until } from "../../test/lab/wait.ts";
import type { Contestant } from "./peers.ts";
import { type Load, perfdhcp } from "./perfdhcp.ts";
import { clients, macBase, relayAddress, serverAddress } from "./plan.ts";

export interface Usage {
  readonly cpuMs: number;
  readonly rssMiB: number;
}

export class Ground {
  readonly #server = `hf-${process.pid}-dhcp`;
  readonly #client = `hf-${process.pid}-load`;
  readonly load: Load = { namespace: this.#client, server: serverAddress, clients, macBase };

  async make(hasAddress: boolean): Promise<void> {
    const server = ["ip", "-n", this.#server];
    const client = ["ip", "-n", this.#client];
    await run(
      script([
        ["ip", "netns", "add", this.#server],
        ["ip", "netns", "add", this.#client],
        [...server, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", this.#client],
        [...server, "link", "set", "eth0", "up"],
        [...client, "link", "set", "eth0", "up"],
        [...client, "address", "add", `${relayAddress}/16`, "dev", "eth0"],
        ...(hasAddress ? [[...server, "address", "add", `${serverAddress}/16`, "dev", "eth0"]] : []),
      ]),
    );
  }

  async remove(): Promise<void> {
    for (const name of [this.#server, this.#client]) await attempt(["ip", "netns", "delete", name]);
  }

  async start(contestant: Contestant): Promise<RunningServer> {
    await this.make(contestant.hasAddress);
    const folder = mkdtempSync(join(tmpdir(), "holdfast-dhcp-"));
    const { command, env } = contestant.prepare(folder);
    const [program = "", ...words] = ["ip", "netns", "exec", this.#server, ...command] as readonly string[];
    const child = spawn(program, words, {
      stdio: ["ignore", "pipe", "pipe"],
      ...(env && { env }),
    });
    const server = new RunningServer(child, folder);
    try {
      await this.#answers(server);
      return server;
    } catch (error) {
      await server.stop();
      throw new Error(`${contestant.name} does not answer: ${server.words}`, { cause: error });
    }
  }

  /** Each client once, too: whatever a server makes at the first question is made before it is measured. */
  async #answers(server: RunningServer): Promise<void> {
    await until(
      async () => {
        if (server.hasEnded) throw new Error("it has ended");
        return (await perfdhcp(this.load, { rate: 50, seconds: 1 })).dropped < 1;
      },
      { what: "an answer", timeoutMs: 30_000 },
    );
    for (let second = 0; second < 3; second++) await perfdhcp(this.load, { rate: 2000, seconds: 2 });
  }
}

export class RunningServer {
  readonly #child: ChildProcess;
  readonly #folder: string;
  words = "";
  hasEnded = false;

  constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.#folder = folder;
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding("utf8").on("data", (text: string) => (this.words = (this.words + text).slice(-2000)));
    child.once("exit", () => (this.hasEnded = true));
  }

  /** `ip netns exec` becomes the program: the process is the server itself. */
  usage(): Usage {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8");
    const [user, system] = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 14).map(Number) as [number, number];
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "utf8");
    const rssKiB = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
    // Ticks of 10 ms (USER_HZ is 100 on every Linux that Node runs on).
    return { cpuMs: 10 * (user + system), rssMiB: rssKiB / 1024 };
  }

  async stop(): Promise<void> {
    if (!this.hasEnded) {
      this.#child.kill("SIGTERM");
      const killer = setTimeout(() => this.#child.kill("SIGKILL"), 5000);
      await once(this.#child, "exit");
      clearTimeout(killer);
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
