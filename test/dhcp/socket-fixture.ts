// A wire in a namespace of a small Ethernet, real DHCP clients in others, and what was said between them as lines that
// read as a story.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { decodeFrame } from "../../src/dhcp/frame/frame.ts";
import { decodeMessage } from "../../src/dhcp/message/decode.ts";
import { messageTypeName } from "../../src/dhcp/message/message-type.ts";
import type { Effect } from "../../src/dhcp/server/outcome.ts";
import { requestStateOf } from "../../src/dhcp/server/request.ts";
import type { Contest, LinkReport, TracedFrame } from "../../src/dhcp/socket/interface.ts";
import { openWire } from "../../src/dhcp/socket/open.ts";
import type { Wire } from "../../src/dhcp/socket/wire.ts";
import { V4Address } from "../../src/net/address.ts";
import { macFromBytes } from "../../src/net/mac.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { ip } from "./packet.ts";

export const network = "default/vlan-48";
export const serverAddress = ip("10.42.0.1");
export const pool = {
  name: "default/net-48",
  subnet: parsePrefix("10.42.0.0/16"),
  serverIdentifier: serverAddress,
  leaseSeconds: 3600,
  routers: [ip("10.42.0.254")],
  dnsServers: [ip("10.42.0.253")],
} as const;

export class WireFixture {
  readonly wire: Wire;
  readonly effects: Effect[] = [];
  readonly links: LinkReport[] = [];
  readonly contests: Contest[] = [];
  readonly frames: TracedFrame[] = [];

  private constructor(wire: Wire, records: Pick<WireFixture, "effects" | "links" | "contests">) {
    this.wire = wire;
    this.effects = records.effects;
    this.links = records.links;
    this.contests = records.contests;
    wire.trace({}, ({ frames }) => this.frames.push(...frames));
  }

  static async open(netns: string): Promise<WireFixture> {
    const records = { effects: [] as Effect[], links: [] as LinkReport[], contests: [] as Contest[] };
    const wire = await openWire({
      netns,
      handler: {
        effects: (effects) => records.effects.push(...effects),
        link: (report) => records.links.push(report),
        contested: (contest) => records.contests.push(contest),
        lost: (error) => {
          throw error;
        },
      },
    });
    wire.setPool(network, pool);
    return new WireFixture(wire, records);
  }

  /** Everything that was said with a client: `DISCOVER`, `-> OFFER 10.42.1.1`, `REQUEST in SELECTING`. */
  storyOf(mac: string): string[] {
    return this.frames.flatMap((frame) => {
      const line = lineOf(frame);
      return line?.mac === mac ? [line.text] : [];
    });
  }

  effectsOf(mac: string): string[] {
    return this.effects.flatMap((effect) => (effect.mac === mac ? [effect.kind] : []));
  }

  /** Incoming messages whose UDP checksum is not the sender's to make: hardware was to fill it in. */
  partialChecksums(mac: string): number {
    return this.frames.filter(
      (frame) =>
        frame.direction === "in" &&
        lineOf(frame)?.mac === mac &&
        decodeFrame(frame.bytes, { acceptPartialChecksum: false }).kind === "fault",
    ).length;
  }
}

function lineOf({
  bytes,
  direction,
  silence,
}: TracedFrame): { readonly mac: string; readonly text: string } | undefined {
  const frame = decodeFrame(bytes, { acceptPartialChecksum: true });
  if (frame.kind === "fault") return undefined;
  const message = decodeMessage(frame.payload);
  if (message.kind === "fault") return undefined;
  const type = messageTypeName(message.type ?? 0) ?? "other";
  const state = type === "REQUEST" ? ` in ${requestStateOf(message)}` : "";
  const address = direction === "out" && message.yiaddr !== 0 ? ` ${new V4Address(message.yiaddr)}` : "";
  const why = silence === undefined || silence === "recorded" ? "" : ` (${silence})`;
  const tag = frame.ethernet.vlan === undefined ? "" : ` in VLAN ${frame.ethernet.vlan}`;
  const arrow = direction === "out" ? "-> " : "";
  return { mac: macFromBytes(message.chaddr), text: `${arrow}${type}${state}${address}${why}${tag}` };
}

/** Of util-linux. */
const enter = "nsenter";

/** A DHCP client's process in a namespace, and what it tells its script. */
export class Client {
  readonly folder = mkdtempSync(join(tmpdir(), "holdfast-dhcp-"));
  readonly #namespace: string;
  readonly #children: ChildProcess[] = [];
  words = "";

  constructor(netns: string) {
    this.#namespace = netns;
    writeFileSync(this.path("told"), "");
    // As busybox and dhclient call it; both words mean the same here. It sets the address, as Debian's scripts do.
    this.script(
      "script",
      `case "\${1:-$reason}" in
        deconfig|EXPIRE|STOP|RELEASE) ip address flush dev eth0 scope global ;;
        bound|renew|BOUND|RENEW|REBIND|REBOOT)
          ip address replace "\${ip:-$new_ip_address}/16" dev eth0 ;;
      esac
      echo "\${1:-$reason} \${ip:-$new_ip_address} \${router:-$new_routers} \${hostname:-$new_host_name}" >> ${this.path("told")}`,
    );
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  script(name: string, text: string): string {
    writeFileSync(this.path(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return this.path(name);
  }

  /** Lines of what the script was told. */
  get told(): string[] {
    return readFileSync(this.path("told"), "utf8").split("\n").slice(0, -1);
  }

  start(...command: readonly string[]): ChildProcess {
    const child = spawn(enter, [`--net=${this.#namespace}`, "--", ...command], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (this.words = (this.words + text).slice(-4000)));
    this.#children.push(child);
    return child;
  }

  /** Until it ends; its status. */
  run(...command: readonly string[]): Promise<number | null> {
    const child = this.start(...command);
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
  }

  end(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
