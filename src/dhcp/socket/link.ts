// One network on one interface, or on one VLAN of it: what comes of a frame. It opens no socket; an outlet sends.
import { decodeArp } from "../../frame/arp.ts";
import { etherType } from "../../frame/ethernet.ts";
import { V4Address } from "../../net/address.ts";
import { macFromBytes } from "../../net/mac.ts";
import { decodeFrame, type Frame } from "../frame/frame.ts";
import { udpProtocol } from "../frame/ipv4.ts";
import { decodeMessage } from "../message/decode.ts";
import { ethernet, op } from "../message/header.ts";
import { code } from "../options/codes.ts";
import { port } from "../server/destination.ts";
import type { Network } from "../server/network.ts";
import { type Outcome, silence, type SilenceReason } from "../server/outcome.ts";
import type { ReplyWriter } from "../server/send.ts";
import type { DhcpServer } from "../server/server.ts";
import type { AnsweredAddresses, Outlet } from "./answered.ts";
import { echoReply, echoTarget } from "./echo.ts";
import type { Contest, LinkDefinition } from "./interface.ts";
import { Probes } from "./probes.ts";

const ipv6EtherType = 0x86dd;
const everybody = 0xffff_ffff;
const strict = { acceptPartialChecksum: false } as const;
const lenient = { acceptPartialChecksum: true } as const;

/** One moment by two clocks. */
export interface Moment {
  /** Never goes back: for what is due. */
  readonly ms: number;
  /** The time of day: for leases and traces. */
  readonly wallMs: number;
}

export interface ReplyOutlet extends Outlet {
  /** What it writes can be sent without a copy. */
  readonly writer: ReplyWriter;
}

/** Where a link's results go. */
export interface LinkSink {
  readonly server: DhcpServer;
  effects(outcome: Outcome): void;
  contested(contest: Contest): void;
  /** Of IPv6. Copied by whoever keeps it. */
  frame(network: string, frame: Uint8Array, isChecksumGiven: boolean): void;
  /** For traces; `at`: where a DHCP message begins. */
  traced(network: string, direction: "in" | "out", frame: Uint8Array, at?: number, reason?: SilenceReason): void;
}

export class Link {
  readonly definition: LinkDefinition;
  readonly network: Network;
  readonly answered: AnsweredAddresses;
  readonly probes = new Probes();
  readonly #sink: LinkSink;
  /** Frames that were not for us. */
  ignored = 0;

  constructor(definition: LinkDefinition, network: Network, answered: AnsweredAddresses, sink: LinkSink) {
    this.definition = definition;
    this.network = network;
    this.answered = answered;
    this.#sink = sink;
  }

  /** `type` and `at`: the packet in the frame. `isChecksumGiven`: its UDP checksum need not be right. */
  receive(
    frame: Uint8Array,
    type: number,
    at: number,
    isChecksumGiven: boolean,
    outlet: ReplyOutlet,
    now: Moment,
  ): void {
    if (type === etherType.arp) this.#hearArp(frame, at, outlet, now.ms);
    else if (type === ipv6EtherType && this.definition.ipv6) this.#handOn(frame, isChecksumGiven);
    else if (type !== etherType.ipv4) this.ignored += 1;
    else if (frame[at + 9] === udpProtocol) this.#answer(frame, isChecksumGiven, outlet, now.wallMs);
    else this.#echo(frame, at, outlet);
  }

  /** IPv6 is dealt with on the main thread. */
  #handOn(frame: Uint8Array, isChecksumGiven: boolean): void {
    const { name } = this.network;
    this.#sink.traced(name, "in", frame);
    this.#sink.frame(name, frame, isChecksumGiven);
  }

  #answer(frame: Uint8Array, isChecksumGiven: boolean, outlet: ReplyOutlet, wallMs: number): void {
    const decoded = decodeFrame(frame, isChecksumGiven ? lenient : strict);
    if (decoded.kind === "fault") {
      this.network.tally().count(undefined, { ...silence("malformed"), fault: decoded });
      return;
    }
    if (decoded.destinationPort !== port.server) return this.#hearServer(decoded);
    if (!this.#isOurs(decoded.destinationAddress)) {
      this.ignored += 1;
      return;
    }
    const { network, definition } = this;
    const acceptRelays = definition.acceptRelays ?? false;
    const arrival = { network, acceptRelays, sourceAddress: decoded.sourceAddress };
    const outcome = this.#sink.server.handle(decoded.payload, arrival, wallMs);
    const payloadAt = decoded.payload.byteOffset - frame.byteOffset;
    const reason = outcome.kind === "silence" ? outcome.reason : undefined;
    this.#sink.traced(network.name, "in", frame, payloadAt, reason);
    if (outcome.effects.length > 0) this.#sink.effects(outcome);
    if (outcome.kind === "silence") return;
    // A client behind a relay renews by way of its router.
    const sender = acceptRelays ? decoded.ethernet.source : undefined;
    const encoded = outlet.writer.frame(outcome, outlet.mac, outlet.vlan, sender);
    if (encoded !== undefined) outlet.send(encoded.bytes);
  }

  /** Everybody, a pool's broadcast address, a server identifier (a switch may be late), or one we answer for. */
  #isOurs(address: number): boolean {
    if (address === everybody || this.network.isServer(address) || this.answered.has(address)) return true;
    const pool = this.network.poolAround(address);
    return pool !== undefined && (pool.network | ~pool.mask) >>> 0 === address;
  }

  /** An answer of a server to a client of this link. Agents of the same network have the same server identifier. */
  #hearServer({ payload }: Frame): void {
    const message = decodeMessage(payload);
    if (message.kind === "fault" || message.op !== op.reply || message.chaddr.length !== ethernet.hlen) return;
    const server = message.options.uint(code.serverIdentifier, 4);
    if (server === undefined || this.network.isServer(server)) return;
    const { name } = this.network;
    const effect = {
      kind: "foreign-server",
      network: name,
      server: new V4Address(server),
      mac: macFromBytes(message.chaddr),
    } as const;
    this.#sink.effects({ ...silence("not-a-request"), effects: [effect] });
  }

  #hearArp(frame: Uint8Array, at: number, outlet: ReplyOutlet, nowMs: number): void {
    const arp = decodeArp(frame, at);
    if (arp === undefined) return;
    this.probes.hear(arp, outlet.mac);
    if (isSame(arp.senderMac, outlet.mac)) return;
    const contested = this.answered.hear(arp, outlet, nowMs);
    if (contested === undefined) return;
    const contest = { address: new V4Address(contested), mac: macFromBytes(arp.senderMac) };
    this.#sink.contested({ network: this.network.name, ...contest });
  }

  #echo(frame: Uint8Array, at: number, outlet: ReplyOutlet): void {
    const target = echoTarget(frame, at);
    if (target === undefined || !this.answered.has(target)) this.ignored += 1;
    else outlet.send(echoReply(frame, at, outlet.mac, outlet.vlan));
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  for (let i = 0; i < 6; i++) if (one[i] !== other[i]) return false;
  return true;
}
