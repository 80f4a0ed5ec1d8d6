// A server with one network, one pool and two clients; and what comes of a datagram, as text that reads in a table.
import { type BindingDefinition, compileBinding } from "../../src/dhcp/server/binding.ts";
import { Network } from "../../src/dhcp/server/network.ts";
import type { Effect, Outcome, Reply } from "../../src/dhcp/server/outcome.ts";
import { compilePool, type PoolDefinition } from "../../src/dhcp/server/pool.ts";
import type { RateLimitOptions } from "../../src/dhcp/server/rate-limit.ts";
import { ReplyWriter } from "../../src/dhcp/server/send.ts";
import { type Arrival, DhcpServer } from "../../src/dhcp/server/server.ts";
import { V4Address } from "../../src/net/address.ts";
import { parseMac } from "../../src/net/mac.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { clientMac, ip, type Packet, packet, type Unpacked, unpack } from "./packet.ts";

export const poolDefinition: PoolDefinition = {
  name: "default/net-48",
  subnet: parsePrefix("192.168.48.0/24"),
  serverIdentifier: ip("192.168.48.2"),
  leaseSeconds: 600,
  routers: [ip("192.168.48.1")],
  dnsServers: [ip("192.168.48.3"), ip("192.168.48.4")],
  domainName: "vm.example",
};

export const bindingDefinition: BindingDefinition = {
  address: ip("192.168.48.81"),
  pool: "default/net-48",
  mac: clientMac,
};
export const otherMac = parseMac("02:00:00:00:00:22");
export const strangerMac = parseMac("02:00:00:00:00:99");

export interface FixtureOptions {
  readonly pool?: Partial<PoolDefinition>;
  readonly binding?: Partial<BindingDefinition>;
  readonly rateLimit?: RateLimitOptions;
}

export interface Sent extends Packet {
  readonly sourceAddress?: string;
  readonly acceptRelays?: boolean;
  readonly nowMs?: number;
}

export class Fixture {
  readonly server = new DhcpServer();
  readonly network: Network;
  readonly #writer = new ReplyWriter();

  constructor({ pool, binding, rateLimit }: FixtureOptions = {}) {
    this.network = new Network("default/vlan-48", rateLimit);
    this.network.setPool(compilePool({ ...poolDefinition, ...pool }));
    this.network.bindings.set(compileBinding({ ...bindingDefinition, ...binding }));
    this.network.bindings.set(compileBinding({ ...bindingDefinition, address: ip("192.168.48.82"), mac: otherMac }));
    this.server.setNetwork(this.network);
  }

  outcome({ sourceAddress = "0.0.0.0", acceptRelays = false, nowMs = 0, ...fields }: Sent): Outcome {
    return this.handle(packet(fields), { sourceAddress: ip(sourceAddress).value, acceptRelays }, nowMs);
  }

  handle(datagram: Uint8Array, arrival: Partial<Arrival> = {}, nowMs = 0): Outcome {
    const whole = { network: this.network, acceptRelays: false, sourceAddress: 0, ...arrival };
    return this.server.handle(datagram, whole, nowMs);
  }

  /** The reply as it is on the wire; fails where there is none. */
  reply(sent: Sent): Unpacked {
    return unpack(this.replyBytes(sent));
  }

  replyBytes(sent: Sent): Uint8Array {
    const outcome = this.outcome(sent);
    if (outcome.kind === "silence") throw new Error(`silence: ${outcome.reason}`);
    return this.#writer.datagram(outcome).bytes.slice();
  }

  /** `OFFER 192.168.48.81 to 02:..`, `NAK to everybody`, `silence: unknown-client`. */
  story(sent: Sent): string {
    return storyOf(this.outcome(sent));
  }
}

export function storyOf(outcome: Outcome): string {
  return outcome.kind === "silence" ? `silence: ${outcome.reason}` : `${said(outcome)} ${destination(outcome)}`;
}

function said({ type, message }: Reply): string {
  return message.yiaddr === 0 ? type : `${type} ${new V4Address(message.yiaddr)}`;
}

function destination({ destination: to }: Reply): string {
  if (to.kind === "broadcast") return `to everybody:${to.port}`;
  const where = `${new V4Address(to.address)}:${to.port}`;
  return to.kind === "relay" ? `to relay ${where}` : `to ${where} at ${Buffer.from(to.mac).toString("hex")}`;
}

/** Effects without their constant parts. */
export function effectsOf(outcome: Outcome): string[] {
  return outcome.effects.map((effect: Effect) => {
    switch (effect.kind) {
      case "leased":
      case "quarantined":
        return `${effect.kind} ${effect.address} ${effect.mac} until ${effect.untilMs}`;
      case "released":
        return `released ${effect.address} ${effect.mac} at ${effect.atMs}`;
      case "conflict":
        return `conflict ${effect.address} ${effect.mac} ${effect.note ?? "without a note"}`;
      case "foreign-server":
        return `foreign server ${effect.server} ${effect.mac}`;
    }
  });
}
