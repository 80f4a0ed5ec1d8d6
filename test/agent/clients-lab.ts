// Real DHCP clients and agents as processes, on an Ethernet of namespaces; the API server is the embedded one, served
// on loopback by the test. Agents run in the machine's own namespace, their wires in those of hosts.
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

import { serve, type Served } from "../../src/apiserver/serve/server.ts";
import { Wire } from "../kernel/wire.ts";
import { attempt, run } from "../lab/command.ts";
import { until } from "../lab/wait.ts";
import { AgentFixture, network } from "./fixture.ts";

const launcher = join(import.meta.dirname, "..", "..", "holdfast");

export type ClientKind = "dhclient" | "udhcpc" | "dhcpcd" | "systemd-networkd";

/** dhclient declines what its script refuses, as Debian's refuses what answers arping. */
const refusal = `
case $what in
  BOUND) busybox arping -q -D -c 2 -w 2 -I "$interface" "$address" || exit 1 ;;
esac
`;

/** Writes what happened to a file, and sets the address as the client's own script would. */
const hook = (log: string, declines: boolean) => `#!/bin/sh
what=\${reason:-$1}
address=\${new_ip_address:-$ip}
echo "$what $address" >> ${log}
${declines ? refusal : ""}case $what in
  BOUND|RENEW|REBIND|REBOOT|bound|renew)
    test -n "$configured" || ip address replace "$address/24" dev "$interface" ;;
  EXPIRE|FAIL|RELEASE|STOP|deconfig) ip address flush dev "$interface" ;;
esac
exit 0
`;

/** Hosts on one Ethernet, agents `a` and `b` among them; whose API server it is, `kubeconfig` says. */
export class ClientHosts {
  readonly wire: Wire;
  readonly folder: string;
  readonly #agentWords: readonly string[];
  readonly #children = new Set<ChildProcess>();
  readonly #clientHosts = new Set<string>();

  /** `agentWords`: what its agents serve, and by which API server. */
  constructor(wire: Wire, folder: string, agentWords: readonly string[]) {
    this.wire = wire;
    this.folder = folder;
    this.#agentWords = agentWords;
  }

  async close(): Promise<void> {
    for (const child of this.#children) await end(child, "SIGKILL");
    for (const host of this.#clientHosts) await this.#endAllIn(host);
    await this.wire.remove();
  }

  /** dhcpcd has processes of its own, which outlive it. */
  async #endAllIn(host: string): Promise<void> {
    const { stdout } = await attempt(["ip", "netns", "pids", basename(this.wire.netns(host))]);
    const pids = stdout.split("\n").filter((pid) => pid !== "");
    if (pids.length > 0) await attempt(["kill", "-KILL", ...pids]);
  }

  async mac(host: string): Promise<string> {
    return (await this.wire.link(host)).mac;
  }

  agent(name: "a" | "b", ...more: readonly string[]): AgentProcess {
    const place = ["--netns", this.wire.netns(name), "--agent-name", name];
    const health = ["--metrics-port", "0", "--metrics-host", "127.0.0.1"];
    const words = [...this.#agentWords, "--state", join(this.folder, `state-${name}`), ...place, ...health, ...more];
    const child = spawn(launcher, ["agent", ...words], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#children.add(child);
    return new AgentProcess(child);
  }

  /** `holdfast dhcp trace` at a host's interface. */
  trace(
    host: string,
    ...more: readonly string[]
  ): { readonly lines: () => string[]; readonly ended: Promise<unknown>; readonly end: () => Promise<void> } {
    const words = [`--net=${this.wire.netns(host)}`, "--", launcher, "dhcp", "trace", "--interface", "eth0", ...more];
    const child = spawn("nsenter", words, { stdio: ["ignore", "pipe", "inherit"] });
    this.#children.add(child);
    let printed = "";
    child.stdout.on("data", (text) => (printed += String(text)));
    const ended = new Promise((resolve) => child.once("close", resolve));
    return { lines: () => printed.split("\n").filter((line) => line !== ""), ended, end: () => end(child, "SIGINT") };
  }

  /** `declines`: it asks by ARP before it takes an address; udhcpc always does. */
  client(kind: ClientKind, host: string, { declines = false } = {}): Client {
    this.#clientHosts.add(host);
    const log = join(this.folder, `${host}.log`);
    writeFileSync(log, "");
    const script = join(this.folder, `${host}.sh`);
    writeFileSync(script, hook(log, declines && kind === "dhclient"));
    chmodSync(script, 0o755);
    const words = this.#command(kind, host, script, declines);
    const child = spawn("nsenter", [`--net=${this.wire.netns(host)}`, "--", ...words], {
      stdio: ["ignore", "pipe", "pipe"],
      cwd: this.folder,
      env: {
        PATH: process.env["PATH"],
        ...(kind === "dhcpcd" && { configured: "1" }),
      },
    });
    this.#children.add(child);
    return new Client(kind, this.wire, host, child, log);
  }

  /** As its user tells it to; it ends, but for udhcpc, which waits. */
  async release(client: Client): Promise<void> {
    const { kind, host } = client;
    if (kind === "udhcpc") return client.signal("SIGUSR2");
    if (kind === "dhcpcd") return client.end("SIGALRM");
    if (kind === "systemd-networkd") return client.end("SIGTERM");
    // Another one finds it by its file, and ends it.
    const words = this.#command(kind, host, join(this.folder, `${host}.sh`));
    await run(["nsenter", `--net=${this.wire.netns(host)}`, "--", ...words.slice(0, -1), "-r", "eth0"]);
  }

  #command(kind: ClientKind, host: string, script: string, declines = false): string[] {
    const at = (name: string) => join(this.folder, `${host}.${name}`);
    switch (kind) {
      case "dhclient":
        // By default it asks again after ten seconds: a lease of ten seconds runs out after one lost message.
        writeFileSync(
          at("conf"),
          "initial-interval 1; backoff-cutoff 2; retry 5;\nrequest subnet-mask, routers, host-name;\n",
        );
        return [
          "dhclient",
          "-4",
          "-d",
          "-sf",
          script,
          "-lf",
          at("leases"),
          "-pf",
          at("pid"),
          "-cf",
          at("conf"),
          "eth0",
        ];
      case "udhcpc":
        // It asks by ARP before it takes an address, and declines one that is in use.
        return ["busybox", "udhcpc", "-f", "-i", "eth0", "-s", script, "-t", "5", "-T", "1", "-A", "1", "-a"];
      case "dhcpcd":
        // Its database and its socket are at fixed places.
        return alone(
          `mkdir -p ${at("db")}`,
          "mount -t tmpfs tmpfs /var/lib",
          "mkdir /var/lib/dhcpcd",
          `mount --bind ${at("db")} /var/lib/dhcpcd`,
          "mount -t tmpfs tmpfs /run",
          `exec dhcpcd -4 -B -d -f /dev/null -c ${script} ${declines ? "" : "-A"} --noipv4ll eth0`,
        );
      case "systemd-networkd": {
        const lines = [
          "[Match]",
          "Name=eth0",
          "[Link]",
          "RequiredForOnline=no",
          "[Network]",
          "DHCP=ipv4",
          "LinkLocalAddressing=no",
          "[DHCPv4]",
          `SendDecline=${declines ? "yes" : "no"}`,
        ];
        // It asks nobody about the interface where /sys cannot be written, as in a container.
        return alone(
          "mount -t tmpfs tmpfs /run",
          "mount -t sysfs -o ro sysfs /sys",
          "mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp",
          "chown -R systemd-network /run/systemd/netif",
          `printf '%s\\n' ${lines.join(" ")} > /run/systemd/network/10-eth0.network`,
          "exec env SYSTEMD_LOG_LEVEL=debug /lib/systemd/systemd-networkd",
        );
      }
    }
  }
}

export class ClientsLab extends ClientHosts {
  readonly fixture: AgentFixture;
  #served: Served | undefined;

  private constructor(fixture: AgentFixture, wire: Wire, folder: string, served: Served) {
    super(wire, folder, ["--kubeconfig", join(folder, "kubeconfig"), "--network", `${network}=eth0`]);
    this.fixture = fixture;
    this.#served = served;
  }

  /** Hosts beside the agents' own, `a` and `b`. */
  static async open(...hosts: readonly string[]): Promise<ClientsLab> {
    const fixture = await AgentFixture.open();
    const folder = await fixture.folder();
    const served = await serve(fixture.api, { kubeconfigPath: join(folder, "kubeconfig") });
    const wire = await Wire.of(["a", "b", ...hosts].map((name) => ({ name })));
    return new ClientsLab(fixture, wire, folder, served);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.serverAway();
    await this.fixture.close();
  }

  /** Nobody listens at the API server's address any more. */
  async serverAway(): Promise<void> {
    await this.#served?.close();
    this.#served = undefined;
  }
}

/** In a mount namespace of its own: nothing of the machine's files changes. */
function alone(...commands: readonly string[]): string[] {
  return ["unshare", "--mount", "sh", "-ec", commands.join("\n")];
}

export class AgentProcess {
  readonly child: ChildProcess;
  printed = "";

  constructor(child: ChildProcess) {
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (this.printed += String(text)));
  }

  async says(text: string): Promise<void> {
    try {
      await until(async () => this.printed.includes(text), { what: `an agent to say ${JSON.stringify(text)}` });
    } catch (error) {
      throw new Error(`It said:\n${this.printed}`, { cause: error });
    }
  }

  get port(): number {
    return Number(/"what":"health","port":(\d+)/.exec(this.printed)?.[1]);
  }

  async page(path: string): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.port}${path}`)).text();
  }

  /** Replies of this type that it has sent. */
  async replies(type: string): Promise<number> {
    const match = new RegExp(`holdfast_dhcp_replies_total\\{[^}]*type="${type}"\\} (\\d+)`).exec(
      await this.page("/metrics"),
    );
    return Number(match?.[1] ?? 0);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    await end(this.child, signal);
  }
}

export class Client {
  readonly kind: ClientKind;
  readonly host: string;
  readonly #wire: Wire;
  readonly #child: ChildProcess;
  readonly #log: string;
  printed = "";

  constructor(kind: ClientKind, wire: Wire, host: string, child: ChildProcess, log: string) {
    this.kind = kind;
    this.host = host;
    this.#wire = wire;
    this.#child = child;
    this.#log = log;
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (this.printed += String(text)));
  }

  /** What its script was told: `BOUND 192.168.48.81`. Of systemd-networkd, which has no script: `ACK`, `NAK`, ... */
  get events(): string[] {
    if (this.kind === "systemd-networkd")
      return Array.from(this.printed.matchAll(/client: ([A-Z]{3,}|EXPIRED)/g), ([, word]) => word!);
    return readFileSync(this.#log, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  }

  /** How often it was given its address, or given it again. */
  get acks(): number {
    return this.events.filter((line) => /^(BOUND|RENEW|REBIND|REBOOT|bound|renew|ACK)/.test(line)).length;
  }

  /** It was told that its address is wrong, or nobody told it in time that it is right. */
  get losses(): string[] {
    return this.events.filter((line) => /^(EXPIRE|FAIL|NAK|nak|deconfig 192|leasefail)/.test(line));
  }

  async addresses(): Promise<string[]> {
    const [link] = JSON.parse(await this.#wire.ip(this.host, "-j", "-4", "address", "show", "eth0")) as {
      addr_info: { local: string }[];
    }[];
    return link?.addr_info?.map(({ local }) => local) ?? [];
  }

  async has(address: string): Promise<void> {
    await this.#until(`${this.kind} to have ${address}`, async () => (await this.addresses()).includes(address));
  }

  /** Given its address so many times more. udhcpc takes no lease for shorter than two minutes, and is told to renew. */
  async renews(times: number): Promise<void> {
    const { acks } = this;
    for (let done = 1; done <= times; done++) {
      if (this.kind === "udhcpc") this.#child.kill("SIGUSR1");
      await this.#until(`${this.kind} to renew`, async () => this.acks >= acks + done);
    }
  }

  async sees(event: string): Promise<void> {
    await this.#until(`${this.kind} to see ${event}`, async () => this.events.some((line) => line.startsWith(event)));
  }

  readonly signal = (signal: NodeJS.Signals): void => {
    this.#child.kill(signal);
  };

  async end(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    await end(this.#child, signal);
  }

  async #until(what: string, isThere: () => Promise<boolean>): Promise<void> {
    try {
      await until(isThere, { what });
    } catch (error) {
      throw new Error(`${what}: ${this.events.join("; ")}\n${this.printed.slice(-3000)}`, { cause: error });
    }
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await ended;
}

/** The neighbour that a host knows for an address. */
export async function neighbour(wire: Wire, host: string, address: string): Promise<string | undefined> {
  const text = await wire.ip(host, "-j", "neighbour", "show", address);
  return (JSON.parse(text || "[]") as { lladdr?: string }[])[0]?.lladdr;
}
