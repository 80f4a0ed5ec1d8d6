// Open vSwitch's database without the switch: an ovsdb-server with its schema, and the one row that names the chassis.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { unpackedFolder } from "../../tools/bootstrap/unpacked.ts";
import { until } from "../lab/wait.ts";

const run = promisify(execFile);

export class VirtualSwitchDatabase implements AsyncDisposable {
  readonly #folder: string;
  readonly #server: ChildProcess;

  private constructor(folder: string, server: ChildProcess) {
    this.#folder = folder;
    this.#server = server;
  }

  static async start(): Promise<VirtualSwitchDatabase> {
    const folder = mkdtempSync(join(tmpdir(), "ovs-"));
    const file = join(folder, "db");
    const schema = join(unpackedFolder("openvswitch-switch"), "usr/share/openvswitch/vswitch.ovsschema");
    await run("ovsdb-tool", ["create", file, schema]);
    const args = [file, `--remote=punix:${join(folder, "sock")}`, `--unixctl=${join(folder, "ctl")}`, "-vconsole:off"];
    const database = new VirtualSwitchDatabase(folder, spawn("ovsdb-server", args, { stdio: "ignore" }));
    await until(async () => (await run("ovsdb-client", ["list-dbs", database.unix, "--timeout=5"])).stdout !== "", {
      what: "ovsdb-server to answer",
    });
    await database.#transact({ op: "insert", table: "Open_vSwitch", row: {} });
    return database;
  }

  get unix(): string {
    return `unix:${join(this.#folder, "sock")}`;
  }

  async set(ids: Readonly<Record<string, string>>): Promise<void> {
    const row = { external_ids: ["map", Object.entries(ids)] };
    await this.#transact({ op: "update", table: "Open_vSwitch", where: [], row });
  }

  /** The interface is a port of br-int, as a plugin makes it. */
  async plug(link: string, port: string): Promise<void> {
    const uuid = (name: string) => ["named-uuid", name];
    const insert = (table: string, name: string, row: object) => ({ op: "insert", table, "uuid-name": name, row });
    await this.#transact(
      insert("Interface", "link", { name: link, external_ids: ["map", [["iface-id", port]]] }),
      insert("Port", "port", { name: link, interfaces: uuid("link") }),
      insert("Bridge", "bridge", { name: `br-${link}`, ports: uuid("port") }),
      { op: "mutate", table: "Open_vSwitch", where: [], mutations: [["bridges", "insert", uuid("bridge")]] },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = new Promise((resolve) => this.#server.once("exit", resolve));
    this.#server.kill("SIGKILL");
    await gone;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #transact(...operations: readonly object[]): Promise<void> {
    await run("ovsdb-client", ["transact", this.unix, JSON.stringify(["Open_vSwitch", ...operations])]);
  }
}
