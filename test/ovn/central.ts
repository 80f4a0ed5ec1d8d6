// OVN's central part from Debian, for one zone: ovsdb-server with both databases, and ovn-northd. No chassis runs; they
// are told to the southbound database, so that ovn-northd binds what it is asked to and ovn-trace can follow packets.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

import { unpackedFolder } from "../../tools/bootstrap/unpacked.ts";

const execute = promisify(execFile);
const run = async (program: string, args: readonly string[]) => (await execute(program, args)).stdout;

const ovn = unpackedFolder("ovn-central");
const program = (name: string) => join(ovn, "usr/bin", name);

export class Central implements AsyncDisposable {
  readonly folder: string;
  #server: ChildProcess | undefined;
  #northd: ChildProcess | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** `chassis`: their names; `remote`: of other zones. */
  static async start(chassis: readonly string[], remote: readonly string[] = []): Promise<Central> {
    const central = new Central(mkdtempSync(join(tmpdir(), "ovn-")));
    for (const name of ["nb", "sb"]) {
      await run("ovsdb-tool", ["create", central.#at(name), join(ovn, `usr/share/ovn/ovn-${name}.ovsschema`)]);
    }
    await central.startServer();
    const at = [`--ovnnb-db=${central.unix}`, `--ovnsb-db=${central.unix}`, `--unixctl=${central.#at("northd")}`];
    central.#northd = spawn(program("ovn-northd"), [...at, "-vconsole:off"], { stdio: "ignore" });
    for (const [index, name] of [...chassis, ...remote].entries()) {
      await central.sbctl("chassis-add", name, "geneve", `172.30.0.${index + 1}`);
      if (remote.includes(name)) await central.sbctl("set", "Chassis", name, "other_config:is-remote=true");
    }
    await central.nbctl("--wait=sb", "init");
    return central;
  }

  get unix(): string {
    return `unix:${this.#at("sock")}`;
  }

  /** Both databases; resolves once it answers. */
  async startServer(): Promise<void> {
    const args = [this.#at("nb"), this.#at("sb"), `--remote=p${this.unix}`, `--unixctl=${this.#at("ctl")}`];
    this.#server = spawn("ovsdb-server", [...args, "-vconsole:off"], { stdio: "ignore" });
    for (let tries = 0; ; tries++) {
      try {
        return void (await run("ovsdb-client", ["list-dbs", this.unix, "--timeout=5"]));
      } catch (error) {
        if (tries === 100) throw error;
        await pause(50);
      }
    }
  }

  /** As when the power fails. */
  async killServer(): Promise<void> {
    await stop(this.#server);
    this.#server = undefined;
  }

  async nbctl(...args: readonly string[]): Promise<string> {
    return await run(program("ovn-nbctl"), [`--db=${this.unix}`, "--no-leader-only", "--timeout=30", ...args]);
  }

  async sbctl(...args: readonly string[]): Promise<string> {
    return await run(program("ovn-sbctl"), [`--db=${this.unix}`, "--no-leader-only", "--timeout=30", ...args]);
  }

  /** The ports that a packet comes out of, those on its way too; `snat ADDRESS`: its new source. */
  async trace(datapath: string, packet: string): Promise<readonly string[]> {
    const at = [`--db=${this.unix}`, "--no-leader-only"];
    const text = await run(program("ovn-trace"), [...at, "--ct=new", "--detailed", datapath, packet]);
    const found = text.matchAll(/output to "([^"]+)"|ct_snat(?:_in_czone)?\(([0-9a-f.:]+)\)/g);
    return Array.from(found, ([, port, source]) => port ?? `snat ${source}`);
  }

  /** The MAC that answers an ARP request of this port; undefined: none does. */
  async arp(
    datapath: string,
    from: { port: string; mac: string; ip: string },
    target: string,
  ): Promise<string | undefined> {
    const about = `arp.op==1 && arp.sha==${from.mac} && arp.spa==${from.ip} && arp.tpa==${target}`;
    const packet = `inport=="${from.port}" && eth.src==${from.mac} && eth.dst==ff:ff:ff:ff:ff:ff && ${about}`;
    const at = [`--db=${this.unix}`, "--no-leader-only"];
    const text = await run(program("ovn-trace"), [...at, "--minimal", datapath, packet]);
    return /arp\.op = 2;[^}]*arp\.sha = ([0-9a-f:]+);[^}]*output\("/s.exec(text)?.[1];
  }

  /** As a chassis that has asked would write it: ovn-trace reads these alone, and no Static_MAC_Binding. */
  async learn(router: string, port: string, ip: string, mac: string): Promise<void> {
    const find = ["--bare", "--columns=_uuid", "find", "Datapath_Binding", `external_ids:name=${router}`];
    const datapath = (await this.sbctl(...find)).trim();
    const known = await this.sbctl(
      "--bare",
      "--columns=mac",
      "find",
      "MAC_Binding",
      `logical_port=${port}`,
      `ip="${ip}"`,
    );
    if (known.trim() !== "") return;
    await this.sbctl(
      "create",
      "MAC_Binding",
      `logical_port=${port}`,
      `ip="${ip}"`,
      `mac="${mac}"`,
      `datapath=${datapath}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stop(this.#northd);
    await stop(this.#server);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #at(name: string): string {
    return join(this.folder, name);
  }
}

async function stop(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}
