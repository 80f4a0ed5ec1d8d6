// A DHCPv6 server with one network, one pool and two clients; and what comes of a datagram, as text for tables.
import type { RateLimitOptions } from "../../../src/dhcp/server/rate-limit.ts";
import { addressFrom } from "../../../src/dhcp/v6/bytes.ts";
import { type BindingDefinitionV6, compileBindingV6 } from "../../../src/dhcp/v6/server/binding.ts";
import { NetworkV6 } from "../../../src/dhcp/v6/server/network.ts";
import type { EffectV6, OutcomeV6, ReplyV6 } from "../../../src/dhcp/v6/server/outcome.ts";
import type { PoolDefinitionV6 } from "../../../src/dhcp/v6/server/pool-definition.ts";
import { compilePoolV6 } from "../../../src/dhcp/v6/server/pool.ts";
import { ReplyWriterV6 } from "../../../src/dhcp/v6/server/send.ts";
import { type ArrivalV6, DhcpV6Server } from "../../../src/dhcp/v6/server/server.ts";
import { parseMac } from "../../../src/net/mac.ts";
import { parsePrefix } from "../../../src/net/prefix.ts";
import { hex, toHex } from "../packet.ts";
import { ip6, ip6Bytes, type OptionV6, unpackOptionsV6, unpackRelays, type UnpackedV6, unpackV6 } from "./packet.ts";

export const poolDefinition: PoolDefinitionV6 = {
  name: "default/net-48",
  subnet: parsePrefix("fd00:48::/64"),
  serverAddress: ip6("fe80::2"),
  leaseSeconds: 600,
  dnsServers: [ip6("fd00:48::53"), ip6("fd00:48::54")],
  domainSearch: ["vm.example", "example"],
};

const clientMac = parseMac("02:00:00:00:00:11");
export const otherMac = parseMac("02:00:00:00:00:22");
export const bindingDefinition: BindingDefinitionV6 = {
  address: ip6("fd00:48::81"),
  pool: "default/net-48",
  mac: clientMac,
};

/** The DUID of the pool above; src/dhcp/v6/server/pool.test.ts has it written down. */
export const serverDuid = toHex(compilePoolV6(poolDefinition).identity.data);
export const serverId: OptionV6 = [2, serverDuid];
export const otherServerId: OptionV6 = [2, "00030001020000000077"];

export interface FixtureOptions {
  readonly pool?: Partial<PoolDefinitionV6>;
  readonly rateLimit?: RateLimitOptions;
}

export interface ArrivalText {
  readonly acceptRelays?: boolean;
  readonly source?: string;
  readonly destination?: string;
  /** Twelve digits; undefined by UDP. */
  readonly mac?: string | undefined;
  readonly network?: NetworkV6 | undefined;
}

export class Fixture {
  readonly server = new DhcpV6Server();
  readonly network: NetworkV6;
  readonly #writer = new ReplyWriterV6();

  constructor({ pool, rateLimit }: FixtureOptions = {}) {
    this.network = new NetworkV6("default/vlan-48", rateLimit);
    this.network.setPool(compilePoolV6({ ...poolDefinition, ...pool }));
    this.network.bindings.set(compileBindingV6(bindingDefinition));
    this.network.bindings.set(compileBindingV6({ ...bindingDefinition, address: ip6("fd00:48::82"), mac: otherMac }));
    this.server.setNetwork(this.network);
  }

  handle(datagram: Uint8Array, arrival: ArrivalText = {}, nowMs = 0): OutcomeV6 {
    const { acceptRelays = false, source = "fe80::11", destination = "ff02::1:2" } = arrival;
    const mac = "mac" in arrival ? arrival.mac : "020000000011";
    const whole: ArrivalV6 = {
      network: "network" in arrival ? arrival.network : this.network,
      acceptRelays,
      sourceAddress: ip6Bytes(source),
      destinationAddress: ip6Bytes(destination),
      sourceMac: mac === undefined ? undefined : hex(mac),
    };
    return this.server.handle(datagram, whole, nowMs);
  }

  /** As `storyOf`. */
  story(datagram: Uint8Array, arrival: ArrivalText = {}, nowMs = 0): string {
    return this.storyOf(this.handle(datagram, arrival, nowMs));
  }

  /** `ADVERTISE na1[fd00:48::81+600]`, `REPLY Success`, `silence: unknown-client`. */
  storyOf(outcome: OutcomeV6): string {
    if (outcome.kind === "silence") return `silence: ${outcome.reason}`;
    const { options } = this.read(outcome);
    return [outcome.type, ...options.flatMap(wordOf)].join(" ");
  }

  reply(datagram: Uint8Array, arrival: ArrivalText = {}): ReplyV6 {
    const outcome = this.handle(datagram, arrival);
    if (outcome.kind === "silence") throw new Error(`silence: ${outcome.reason}`);
    return outcome;
  }

  bytes(reply: ReplyV6): Uint8Array {
    return this.#writer.datagram(reply).bytes.slice();
  }

  /** The client's message of a reply as it is on the wire. */
  read(reply: ReplyV6): UnpackedV6 {
    return unpackV6(unpackRelays(this.bytes(reply)).inner);
  }
}

const statusNames = [
  "Success",
  "UnspecFail",
  "NoAddrsAvail",
  "NoBinding",
  "NotOnLink",
  "UseMulticast",
  "NoPrefixAvail",
];
const iaNames = new Map([
  [3, { name: "na", head: 24 }],
  [4, { name: "ta", head: 8 }],
  [25, { name: "pd", head: 24 }],
]);

function wordOf([code, data]: OptionV6): string[] {
  if (code === 13) return [statusNames[Number.parseInt(data.slice(0, 4), 16)]!];
  if (code === 14) return ["rapid"];
  const ia = iaNames.get(code);
  if (ia === undefined) return [];
  const inside = unpackOptionsV6(data.slice(ia.head)).map(([inner, value]) => {
    if (inner === 13) return wordOf([inner, value])[0]!;
    const isPrefix = inner === 26;
    const address = addressFrom(hex(isPrefix ? value.slice(18) : value.slice(0, 32)));
    const valid = isPrefix ? value.slice(8, 16) : value.slice(40, 48);
    return `${address}+${Number.parseInt(valid, 16)}`;
  });
  return [`${ia.name}${Number.parseInt(data.slice(0, 8), 16)}[${inside.join(" ")}]`];
}

/** Effects without their constant parts. */
export function effectsOf(outcome: OutcomeV6): string[] {
  return outcome.effects.map((effect: EffectV6) => {
    switch (effect.kind) {
      case "leased":
      case "quarantined":
        return `${effect.kind} ${effect.address} ${effect.mac} until ${effect.untilMs}`;
      case "released":
        return `released ${effect.address} ${effect.mac} at ${effect.atMs}`;
      case "conflict":
        return `conflict ${effect.address} ${effect.mac}`;
      case "foreign-server":
        return `foreign server ${effect.server} ${effect.mac}`;
    }
  });
}
