// Unmodified DHCPv6 clients on the Ethernet of ClientsLab, and a capture of all that passes its switch.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { attempt, run } from "../lab/command.ts";
import { until } from "../lab/wait.ts";
import type { AgentProcess, ClientsLab } from "./clients-lab.ts";

export type ClientV6Kind = "dhclient" | "dhcpcd" | "systemd-networkd";

const dhclientScript = join(import.meta.dirname, "..", "dhcp", "v6", "dhclient-script.sh");

/** In a mount namespace of its own: nothing of the machine's files changes. What dhcpcd keeps outlives a restart. */
function commandOf(kind: ClientV6Kind, folder: string, host: string): readonly string[] {
  const at = (name: string) => join(folder, `${host}.${name}`);
  switch (kind) {
    case "dhclient":
      return [
        // It binds its link-local address, and ends where the kernel still asks whether that is in use.
        "for i in $(seq 300); do ip -6 address show dev eth0 scope link -tentative | grep -q inet6 && break; sleep 0.1; done",
        `exec dhclient -6 -d -v -lf ${at("leases6")} -pf ${at("pid6")} -sf ${dhclientScript} $MORE eth0`,
      ];
    case "dhcpcd":
      return [
        `mkdir -p ${at("db")}`,
        "mount -t tmpfs tmpfs /var/lib",
        "mkdir /var/lib/dhcpcd",
        `mount --bind ${at("db")} /var/lib/dhcpcd`,
        "mount -t tmpfs tmpfs /run",
        "exec dhcpcd -6 -B -d -f /dev/null -c /bin/true -o domain_name_servers -o domain_search eth0",
      ];
    case "systemd-networkd": {
      const lines = ["[Match]", "Name=eth0", "[Network]", "DHCP=no", "IPv6AcceptRA=yes", "LinkLocalAddressing=ipv6"];
      return [
        "mount -t tmpfs tmpfs /run",
        "mount -t sysfs -o ro sysfs /sys",
        "mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp",
        "chown -R systemd-network /run/systemd/netif",
        `printf '%s\\n' ${lines.join(" ")} > /run/systemd/network/10-eth0.network`,
        "exec env SYSTEMD_LOG_LEVEL=debug /lib/systemd/systemd-networkd",
      ];
    }
  }
}

export class ClientV6 {
  readonly kind: ClientV6Kind;
  readonly host: string;
  printed = "";
  readonly #lab: ClientsLab;
  readonly #child: ChildProcess;

  /** `more`: words for dhclient. */
  constructor(lab: ClientsLab, kind: ClientV6Kind, host: string, more = "") {
    this.#lab = lab;
    this.kind = kind;
    this.host = host;
    const inside = [`--net=${lab.wire.netns(host)}`, "--", "unshare", "--mount", "sh", "-ec"];
    this.#child = spawn("nsenter", [...inside, commandOf(kind, lab.folder, host).join("\n")], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env["PATH"], MORE: more },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on("data", (text) => (this.printed = (this.printed + String(text)).slice(-20_000)));
    }
  }

  /** Those that are no link-local ones, ready for use. */
  async addresses(): Promise<string[]> {
    const text = await this.#lab.wire.ip(this.host, "-j", "-6", "address", "show", "dev", "eth0", "scope", "global");
    const [link] = JSON.parse(text) as { addr_info?: { local?: string; tentative?: boolean }[] }[];
    return link?.addr_info?.flatMap(({ local, tentative }) => (local === undefined || tentative ? [] : [local])) ?? [];
  }

  /** These and no others. */
  async has(...wanted: readonly string[]): Promise<void> {
    const what = `${this.kind} to have ${wanted.join(", ") || "no address"}`;
    try {
      await until(async () => (await this.addresses()).join() === wanted.join(), { what });
    } catch (error) {
      throw new Error(`${what}: ${(await this.addresses()).join()}\n${this.printed.slice(-4000)}`, { cause: error });
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** With all that it has started: dhcpcd has processes of its own, which outlive it. */
  async end(): Promise<void> {
    await endAllIn(this.#lab, this.host);
  }
}

/** Whatever runs in a host's namespace ends. */
export async function endAllIn(lab: ClientsLab, host: string): Promise<void> {
  const list = ["ip", "netns", "pids", basename(lab.wire.netns(host))];
  await until(
    async () => {
      const pids = (await run(list)).split("\n").filter((pid) => pid !== "");
      if (pids.length > 0) await attempt(["kill", "-KILL", ...pids]);
      return pids.length === 0;
    },
    { what: `all of ${host} to end` },
  );
}

interface ShownBinding {
  readonly address: string;
  readonly lastSeen?: string;
  readonly leasedUntil?: string;
}

/** What an agent shows of an address. */
export async function shownOf(agent: AgentProcess, address: string): Promise<ShownBinding | undefined> {
  const { networks } = JSON.parse(await agent.page("/leases")) as { networks: { bindings: ShownBinding[] }[] };
  return networks[0]?.bindings.find((each) => each.address === address);
}

/** An agent gives the address so many times more. */
export async function renewed(agent: AgentProcess, address: string, times: number): Promise<void> {
  let last = (await shownOf(agent, address))?.lastSeen;
  for (let done = 1; done <= times; done++) {
    last = await until(
      async () => {
        const now = (await shownOf(agent, address))?.lastSeen;
        return now !== last && now;
      },
      { what: `${address} to be renewed (${done} of ${times})` },
    );
  }
}

/** Frames that pass the switch, or one of its links, in a file: of IPv6, or what a filter of libpcap says. */
export class Capture {
  readonly #child: ChildProcess;
  readonly #path: string;
  #printed = "";

  constructor(lab: ClientsLab, what = "ip6", link = "br0") {
    this.#path = join(lab.folder, "switch.pcapng");
    const listen = ["dumpcap", "-q", "-i", link, "-f", what, "-w", this.#path];
    this.#child = spawn("nsenter", [`--net=${lab.wire.netns("switch")}`, "--", ...listen], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child.stderr?.on("data", (text) => (this.#printed += String(text)));
  }

  async ready(): Promise<void> {
    await until(async () => readFileSync(this.#path).length > 0, { what: `the capture: ${this.#printed}` });
  }

  /** One row for each frame that the filter lets pass, one column for each field. */
  async rows(filter: string, ...fields: readonly string[]): Promise<string[][]> {
    const checks = ["-o", "udp.check_checksum:TRUE"];
    const words = [
      "-r",
      this.#path,
      ...checks,
      "-Y",
      filter,
      "-T",
      "fields",
      ...fields.flatMap((each) => ["-e", each]),
    ];
    // A capture that is not finished ends within a frame now and then, which tshark tells of, and goes on.
    const { stdout } = await attempt(["tshark", ...words]);
    return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")]));
  }

  /** A frame that the filter lets pass. Each look takes tshark a fifth of a second of a core. */
  async sees(filter: string, what = filter): Promise<void> {
    await until(async () => (await this.rows(filter, "frame.number")).length > 0, { what, everyMs: 1000 });
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGINT");
    await ended;
  }
}
