// A ServiceV6 on a link of its own: frames in from guests, and each frame that it sends as a line of text.
import { ServiceV6 } from "../../src/agent/v6/service.ts";
import { addressFrom } from "../../src/dhcp/v6/bytes.ts";
import { datagramAt, decodeFrameV6, encodeDatagram, frameBufferBytesV6 } from "../../src/dhcp/v6/frame/frame.ts";
import type { EffectV6 } from "../../src/dhcp/v6/server/outcome.ts";
import type { PoolDefinitionV6 } from "../../src/dhcp/v6/server/pool-definition.ts";
import { compilePoolV6 } from "../../src/dhcp/v6/server/pool.ts";
import { icmpFrame } from "../../src/frame/icmp.ts";
import { multicast, multicastMac, solicitedNodeOf } from "../../src/frame/multicast.ts";
import type { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import { type Mac, macFromBytes, macToBytes, parseMac } from "../../src/net/mac.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { hex, toHex } from "../dhcp/packet.ts";
import { ip6, ip6Bytes, ip6Hex, type OptionV6, unpackOptionsV6, unpackRelays, unpackV6 } from "../dhcp/v6/packet.ts";

export { ip6 } from "../dhcp/v6/packet.ts";

export const agentMac = parseMac("02:00:00:aa:00:01");
export const agentLinkLocal = "fe80::ff:feaa:1";
export const router = "fe80::1";
export const pool: PoolDefinitionV6 = {
  name: "default/pool-48",
  subnet: parsePrefix("fd00:48::/64"),
  leaseSeconds: 600,
};
export const otherPool: PoolDefinitionV6 = {
  name: "default/pool-49",
  subnet: parsePrefix("fd00:49::/64"),
  leaseSeconds: 600,
};

export const serverId = (of: PoolDefinitionV6): OptionV6 => [2, toHex(compilePoolV6(of).identity.data)];

export class ServiceV6Link {
  readonly service: ServiceV6;
  readonly effects: EffectV6[] = [];
  /** Pools at whose server address this agent answers. */
  readonly holds = new Set<string>();
  readonly #lines: string[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(clock: ManualClock, more: { readonly acceptRelays?: boolean } = {}) {
    this.service = new ServiceV6({
      name: "default/net-48",
      clock,
      random: () => 0.5,
      send: (frame) => this.#lines.push(lineOf(frame)),
      isHolder: (name) => this.holds.has(name),
      take: (effect) => this.effects.push(effect),
      ...more,
    });
    this.#running = this.service.run(this.#stop.signal);
  }

  /** What was sent since the last call, of one kind or all. */
  take(kind = ""): string[] {
    return this.#lines.splice(0).filter((line) => line.startsWith(kind));
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  bind(address: string, mac: Mac, ofPool = pool.name): void {
    const definition = { address: ip6(address), pool: ofPool, mac };
    const rest = { mac, address, hold: undefined, createdMs: 0, quarantine: undefined };
    this.service.changeBindings([], [{ definition, ...rest }]);
  }

  /** A DHCPv6 message of a guest, to all servers. */
  ask(mac: Mac, datagram: Uint8Array): void {
    this.#receive(datagramFrame(mac, "fe80::11", multicast.dhcpAgents, datagram));
  }

  /** A router solicitation. */
  solicit(mac: Mac, from: string): void {
    this.#receive(messageFrame(mac, from, multicast.allRouters, `85000000${"00".repeat(4)}`));
  }

  /** A neighbour asks who has an address. */
  who(mac: Mac, from: string, target: string): void {
    this.#receive(solicitationFrame(mac, from, target));
  }

  /** Somebody advertises a router. */
  advertise(mac: Mac, from: string, lifetime: number, hopLimit = 255): void {
    const frame = advertisementFrame(mac, from, lifetime);
    frame[14 + 7] = hopLimit;
    this.#receive(frame);
  }

  #receive(bytes: Uint8Array): void {
    this.service.take({ network: "default/net-48", bytes, isChecksumGiven: false });
  }
}

export function datagramFrame(mac: Mac, from: string, to: Uint8Array, payload: Uint8Array): Uint8Array {
  const buffer = new Uint8Array(frameBufferBytesV6);
  buffer.set(payload, datagramAt);
  const ethernet = { source: macToBytes(mac), destination: multicastMac(to) };
  const headers = { ethernet, source: ip6Bytes(from), destination: to };
  return encodeDatagram(headers, { source: 546, destination: 547 }, payload.length, buffer).slice();
}

/** A neighbour asks who has an address. */
export function solicitationFrame(mac: Mac, from: string, target: string): Uint8Array {
  const body = `87000000${"00".repeat(4)}${ip6Hex(target)}`;
  return messageFrame(mac, from, solicitedNodeOf(ip6Bytes(target)), body);
}

/** A router advertises itself. */
export function advertisementFrame(mac: Mac, from: string, lifetime: number): Uint8Array {
  const body = `8600000000c0${lifetime.toString(16).padStart(4, "0")}${"00".repeat(8)}`;
  return messageFrame(mac, from, multicast.allNodes, body);
}

function messageFrame(mac: Mac, from: string, to: Uint8Array, body: string): Uint8Array {
  const packet = { source: ip6Bytes(from), destination: to, mac: multicastMac(to), message: hex(body) };
  return icmpFrame(packet, macToBytes(mac));
}

/** `RA fe80::1 > ff02::1 lifetime 0`, `NA fe80::2 > ff02::1 is MAC`, `MLD GROUP ...`, `REPLY fd00:48::81`. */
export function lineOf(bytes: Uint8Array): string {
  const frame = decodeFrameV6(bytes, { acceptPartialChecksum: false });
  // Behind Ethernet, IPv6, hop-by-hop options and the head of the report: groups with four bytes before each.
  if (frame.kind === "fault" && bytes[14 + 6] === 0) {
    const report = bytes.subarray(14 + 40 + 8);
    const groups = Array.from({ length: report[7]! }, (_, index) => `${addressFrom(report, 12 + 20 * index)}`);
    return ["MLD", ...groups].join(" ");
  }
  if (frame.kind === "fault") return `malformed: ${frame.message}`;
  const way = `${addressFrom(frame.source)} > ${addressFrom(frame.destination)}`;
  const { payload } = frame;
  if (frame.kind === "icmp") {
    if (payload[0] === 134) return `RA ${way} lifetime ${(payload[6]! << 8) | payload[7]!}`;
    if (payload[0] === 136) return `NA ${way} is ${macFromBytes(payload.subarray(26, 32))}`;
    return `ICMPv6 ${payload[0]}`;
  }
  const { relays, inner } = unpackRelays(payload);
  const { type, options } = unpackV6(inner);
  const relay = relays.map((each) => {
    const [through, peer] = [each.link, each.peer].map((address) => addressFrom(hex(address)));
    return `relayed ${through} ${peer} by ${macFromBytes(frame.ethernet.destination)} port ${frame.destinationPort}:`;
  });
  return [...relay, type === 2 ? "ADVERTISE" : "REPLY", ...options.flatMap(wordOf)].join(" ");
}

function wordOf([code, data]: OptionV6): string[] {
  if (code === 3) return unpackOptionsV6(data.slice(24)).flatMap(wordOf);
  if (code === 5) return [`${addressFrom(hex(data))}`];
  if (code === 13) return [data.slice(0, 4) === "0000" ? "Success" : `status ${Number.parseInt(data.slice(0, 4), 16)}`];
  return code === 23 ? [`23=${addressFrom(hex(data))}`] : [];
}
