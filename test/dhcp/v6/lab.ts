// A link with our DHCPv6 server on a packet socket, a client's host and another host, for stories with real clients.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";

import { Wire } from "../../kernel/wire.ts";
import { attempt, run } from "../../lab/command.ts";
import { until } from "../../lab/wait.ts";
import type { AgentLine, AgentOrder, AgentPlan } from "./agent-process.ts";

export const clientMac = "02:00:00:00:00:11";

export class Lab {
  /** For what clients keep. */
  readonly folder = mkdtempSync(join(tmpdir(), "holdfast-dhcpv6-"));
  readonly #wire: Wire;
  readonly #lines: AgentLine[] = [];
  readonly #clients = new Set<ChildProcess>();
  #agent: ChildProcess | undefined;
  /** Lines before this one have been told. */
  #told = 0;
  /** What the last client said. */
  #words = "";

  static async of(plan: AgentPlan): Promise<Lab> {
    const down = true;
    const lab = new Lab(await Wire.of([{ name: "server", down }, { name: "client", down }, { name: "other" }]));
    await lab.#start(plan);
    return lab;
  }

  private constructor(wire: Wire) {
    this.#wire = wire;
  }

  async #start(plan: AgentPlan): Promise<void> {
    await run(this.#inside("server", ["sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"]));
    await this.#wire.ip("server", "link", "set", "eth0", "up");
    await this.#wire.ip("client", "link", "set", "eth0", "address", clientMac, "up");
    const [program = "", ...args] = this.#inside("server", [
      process.execPath,
      join(import.meta.dirname, "agent-process.ts"),
      JSON.stringify(plan),
    ]);
    this.#agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.#agent.stdout! }).on("line", (line) =>
      this.#lines.push(JSON.parse(line) as AgentLine),
    );
    await this.said(({ type }) => type === "ready", "the server to begin");
    // Clients do not speak before their own link-local address is known to be theirs.
    await until(async () => !(await this.#wire.ip("client", "-6", "address", "show", "tentative")).includes("fe80"), {
      what: "the client's link-local address",
    });
  }

  /** Waits for a line that has not been told yet; it and those before it have been then. */
  async said(isIt: (line: AgentLine) => boolean, what: string): Promise<AgentLine> {
    try {
      return await until(
        async () => {
          const at = this.#lines.findIndex((line, index) => index >= this.#told && isIt(line));
          if (at < 0) return undefined;
          this.#told = at + 1;
          return this.#lines[at];
        },
        { what },
      );
    } catch (cause) {
      const lines = this.#lines.map(({ type, outcome }) => `${type}: ${outcome}`).join(", ");
      throw new Error(`${String(cause)}\nthe server saw ${lines}\nthe client said\n${this.#words}`, { cause });
    }
  }

  /** The next message of that type that is answered. */
  answered(type: string): Promise<AgentLine> {
    return this.said((line) => line.type === type && ["ADVERTISE", "REPLY"].includes(line.outcome), `a ${type}`);
  }

  /** All types of messages since, told or not; orders left out. */
  since(count: number): readonly string[] {
    return this.#lines.slice(count).flatMap(({ type }) => (type === "order" ? [] : [type]));
  }

  get count(): number {
    return this.#lines.length;
  }

  async order(order: AgentOrder): Promise<void> {
    this.#agent!.stdin!.write(`${JSON.stringify(order)}\n`);
    await this.said(({ type }) => type === "order", "the order to be taken");
  }

  /** `script` is of a shell, in the client's namespace with mounts of its own; it ends with `exec CLIENT`. */
  client(script: string): ChildProcess {
    const [program = "", ...args] = this.#inside("client", ["sh", "-c", script]);
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#words = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#words = (this.#words + text).slice(-20_000);
      });
    }
    this.#clients.add(child);
    child.once("exit", () => this.#clients.delete(child));
    return child;
  }

  async stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    // dhcpcd loses a signal now and then, so that it is sent again.
    const isGone = async () => {
      if (!this.#clients.has(child)) return true;
      child.kill(signal);
      return false;
    };
    await until(isGone, { what: "the client to end", everyMs: 2000 });
    await this.#killClients();
  }

  /** The client's addresses by DHCPv6, ready for use. */
  async addresses(): Promise<readonly string[]> {
    const text = await this.#wire.ip("client", "-j", "-6", "address", "show", "dev", "eth0", "scope", "global");
    // What its filter leaves out is an empty object.
    const [link] = JSON.parse(text) as { addr_info?: { local?: string; tentative?: boolean }[] }[];
    return link?.addr_info?.flatMap(({ local, tentative }) => (local === undefined || tentative ? [] : [local])) ?? [];
  }

  async hasAddresses(...wanted: readonly string[]): Promise<void> {
    const what = `the client to have ${wanted.join(", ") || "no address"}`;
    await until(async () => (await this.addresses()).join(" ") === wanted.join(" "), { what });
  }

  routes(): Promise<string> {
    return this.#wire.ip("client", "-6", "route");
  }

  /** Another host has an address, which it never asked for. */
  async squat(address: string): Promise<void> {
    await this.#wire.ip("other", "address", "add", `${address}/64`, "dev", "eth0", "nodad");
  }

  async remove(): Promise<void> {
    await this.#killClients();
    this.#agent?.stdin?.end();
    this.#agent?.kill("SIGKILL");
    await this.#wire.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Whatever runs in the client's namespace: dhcpcd has children of its own, which may outlive it. */
  async #killClients(): Promise<void> {
    const clients = ["ip", "netns", "pids", basename(this.#wire.netns("client"))];
    await until(
      async () => {
        const pids = (await run(clients)).split("\n").filter((pid) => pid !== "");
        if (pids.length > 0) await attempt(["kill", "-KILL", ...pids]);
        return pids.length === 0;
      },
      { what: "the client's processes to end" },
    );
  }

  #inside(host: string, command: readonly string[]): readonly string[] {
    return ["ip", "netns", "exec", basename(this.#wire.netns(host)), ...command];
  }
}
