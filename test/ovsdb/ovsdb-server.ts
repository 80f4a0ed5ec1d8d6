// Debian's ovsdb-server as a process, alone or as one member of a cluster, with a database of the northbound schema.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

import { unpackedFolder } from "../../tools/bootstrap/unpacked.ts";
import type { KeyPair } from "../lab/certificates.ts";

const execute = promisify(execFile);

/** A program's whole output; throws with what it said where it failed. */
const run = async (program: string, args: readonly string[]) =>
  (await execute(program, args, { maxBuffer: 256 * 1024 * 1024 })).stdout;

const northboundSchema = join(unpackedFolder("ovn-central"), "usr/share/ovn/ovn-nb.ovsschema");

export class OvsdbServer {
  readonly folder: string;
  readonly #args: readonly string[];
  #process: ChildProcess | undefined;

  private constructor(folder: string, args: readonly string[]) {
    this.folder = folder;
    this.#args = args;
  }

  /** A standalone database, empty; not started. */
  static async alone(remotes: readonly string[] = [], tls: readonly string[] = []): Promise<OvsdbServer> {
    const folder = mkdtempSync(join(tmpdir(), "ovsdb-"));
    await run("ovsdb-tool", ["create", join(folder, "db"), northboundSchema]);
    return new OvsdbServer(folder, [...remotes.map((each) => `--remote=${each}`), ...tls]);
  }

  /** A member of a cluster; `join`: the address of another, or undefined for the first. */
  static async member(address: string, first: string | undefined): Promise<OvsdbServer> {
    const folder = mkdtempSync(join(tmpdir(), "ovsdb-"));
    const database = join(folder, "db");
    if (first === undefined) await run("ovsdb-tool", ["create-cluster", database, northboundSchema, address]);
    else await run("ovsdb-tool", ["join-cluster", database, "OVN_Northbound", address, first]);
    return new OvsdbServer(folder, []);
  }

  get unix(): string {
    return `unix:${join(this.folder, "sock")}`;
  }

  /** Resolves once it answers. */
  async start(): Promise<void> {
    const at = (name: string) => join(this.folder, name);
    this.#process = spawn(
      "ovsdb-server",
      [at("db"), `--remote=punix:${at("sock")}`, `--unixctl=${at("ctl")}`, "-vconsole:off", ...this.#args],
      { stdio: "ignore" },
    );
    for (let tries = 0; ; tries++) {
      try {
        return void (await run("ovsdb-client", ["list-dbs", this.unix, "--timeout=5"]));
      } catch (error) {
        if (tries === 100) throw error;
        await pause(50);
      }
    }
  }

  /** As when the power fails: nothing is told to anyone. */
  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }

  /** Stands still, with its connections open; and goes on. */
  suspend(isSuspended: boolean): void {
    this.#process?.kill(isSuspended ? "SIGSTOP" : "SIGCONT");
  }

  async control(...command: readonly string[]): Promise<string> {
    return await run("ovs-appctl", ["-t", join(this.folder, "ctl"), "--timeout=10", ...command]);
  }

  /** What ovsdb-client sees, table by table: headings, and rows in RFC 7047's notation. */
  async dump(): Promise<Map<string, { headings: string[]; data: unknown[][] }>> {
    const text = await run("ovsdb-client", ["dump", this.unix, "OVN_Northbound", "--format=json", "--no-heading"]);
    const tables = text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { caption: string; headings: string[]; data: unknown[][] });
    return new Map(tables.map((table) => [table.caption.replace(/ table$/, ""), table]));
  }

  /** Without a client of ours; while it is not running, into its file. */
  async transact(operations: readonly object[]): Promise<void> {
    const [program, where] =
      this.#process === undefined ? ["ovsdb-tool", join(this.folder, "db")] : ["ovsdb-client", this.unix];
    await run(program, ["transact", where, JSON.stringify(["OVN_Northbound", ...operations])]);
  }

  async dispose(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const tlsArguments = (own: KeyPair, authority: string): string[] => [
  `--private-key=${own.key}`,
  `--certificate=${own.certificate}`,
  `--ca-cert=${authority}`,
];
