// A small DHCPv6 server on a packet socket, for tests with real clients: our engine and sender of advertisements behind
// the few system calls that they need. Runs in the namespace that it serves.
//
// In: one JSON object as argument (`AgentPlan`), and a line per order on the standard input (`AgentOrder`). Out: a line
// of JSON for each message that came, with what became of it. Ends with its standard input.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { addressFrom } from "../../../src/dhcp/v6/bytes.ts";
import { decodeFrameV6, type DatagramFrame, type IcmpFrame } from "../../../src/dhcp/v6/frame/frame.ts";
import { decodeEnvelope } from "../../../src/dhcp/v6/message/decode.ts";
import { messageTypeNameV6 } from "../../../src/dhcp/v6/message/message-type.ts";
import {
  announceAddresses,
  answerNeighbor,
  groupMacsOf,
} from "../../../src/dhcp/v6/neighbor/neighbor-advertisement.ts";
import { RaSender } from "../../../src/dhcp/v6/neighbor/ra-sender.ts";
import { decodeSolicitation } from "../../../src/dhcp/v6/neighbor/solicitation.ts";
import { compileBindingV6 } from "../../../src/dhcp/v6/server/binding.ts";
import { NetworkV6 } from "../../../src/dhcp/v6/server/network.ts";
import type { OutcomeV6 } from "../../../src/dhcp/v6/server/outcome.ts";
import { compilePoolV6 } from "../../../src/dhcp/v6/server/pool.ts";
import { ReplyWriterV6 } from "../../../src/dhcp/v6/server/send.ts";
import { DhcpV6Server } from "../../../src/dhcp/v6/server/server.ts";
import { type IcmpPacket, icmpFrame } from "../../../src/frame/icmp.ts";
import { lastErrno, libc } from "../../../src/linux/libc.ts";
import { parseAddress, type V6Address } from "../../../src/net/address.ts";
import { macToBytes, parseMac } from "../../../src/net/mac.ts";
import { parsePrefix } from "../../../src/net/prefix.ts";

export interface AgentPlan {
  readonly name: string;
  readonly subnet: string;
  readonly leaseSeconds: number;
  readonly rapidCommit: boolean;
  readonly dnsServers: readonly string[];
  readonly domainSearch: readonly string[];
  /** MAC -> address. */
  readonly bindings: Readonly<Record<string, string>>;
}

export type AgentOrder =
  /** Types of messages that get no answer. */
  { readonly ignore: readonly string[] } | { readonly bind: string; readonly to: string };

/** What a test reads. */
export interface AgentLine {
  readonly type: string;
  /** Codes of options, in the client's order. */
  readonly options: readonly number[];
  /** Codes that the client asks for. */
  readonly requested: readonly number[];
  /** Addresses in IAs. */
  readonly addresses: readonly string[];
  readonly outcome: string;
  readonly effects: readonly string[];
}

const plan = JSON.parse(process.argv[2]!) as AgentPlan;
const v6 = (text: string) => parseAddress(text) as V6Address;
const pool = compilePoolV6({
  name: plan.name,
  subnet: parsePrefix(plan.subnet),
  leaseSeconds: plan.leaseSeconds,
  rapidCommit: plan.rapidCommit,
  dnsServers: plan.dnsServers.map(v6),
  domainSearch: plan.domainSearch,
});
const network = new NetworkV6("test");
network.setPool(pool);
for (const [mac, address] of Object.entries(plan.bindings)) bind(mac, address);
const server = new DhcpV6Server();
server.setNetwork(network);
const sender = new RaSender(Math.random);
const replies = new ReplyWriterV6();
let ignored: readonly string[] = [];

function bind(mac: string, address: string): void {
  network.bindings.set(compileBindingV6({ address: v6(address), pool: plan.name, mac: parseMac(mac) }));
}

// Numbers of Linux: PF_PACKET, SOCK_RAW | SOCK_NONBLOCK, ETH_P_IPV6 in network byte order, POLLIN, MSG_DONTWAIT.
const linux = { packet: 17, raw: 3 | 0o4000, ipv6: 0xdd86, pollIn: 1, dontWait: 0x40 } as const;
const mac = macToBytes(parseMac(readFileSync("/sys/class/net/eth0/address", "utf8").trim()));
const index = Number(readFileSync("/sys/class/net/eth0/ifindex", "utf8"));
const socket = libc.socket(linux.packet, linux.raw, linux.ipv6);
const address = Buffer.alloc(20);
address.writeUInt16LE(linux.packet, 0);
address.writeUInt16LE(linux.ipv6, 2);
address.writeInt32LE(index, 4);
if (socket < 0 || libc.bind(socket, address, address.length) !== 0) throw new Error(`no packet socket: ${lastErrno()}`);

// SOL_PACKET, PACKET_ADD_MEMBERSHIP; struct packet_mreq with PACKET_MR_MULTICAST.
for (const group of groupMacsOf(pool)) {
  const membership = Buffer.alloc(16);
  membership.writeInt32LE(index, 0);
  membership.writeUInt16LE(group.length, 6);
  membership.set(group, 8);
  if (libc.setsockopt(socket, 263, 1, membership, membership.length) !== 0) throw new Error(`group: ${lastErrno()}`);
}

const buffer = new Uint8Array(2048);
const waiting = Buffer.alloc(8);

function send(frame: Uint8Array | undefined): void {
  if (frame !== undefined && libc.send(socket, frame, frame.length, 0) < 0) throw new Error(`send: ${lastErrno()}`);
}

const sendIcmp = (packet: IcmpPacket | undefined) => send(packet && icmpFrame(packet, mac));

function onDatagram(frame: DatagramFrame): void {
  if (frame.destinationPort !== 547) return;
  const envelope = decodeEnvelope(frame.payload);
  const name = envelope.kind === "fault" ? envelope.code : (messageTypeNameV6(envelope.message.type) ?? "other");
  const outcome = ignored.includes(name) ? undefined : server.handle(frame.payload, arrivalOf(frame), Date.now());
  console.log(JSON.stringify(lineOf(name, frame.payload, outcome)));
  if (outcome?.kind === "reply") send(replies.frame(outcome, mac, undefined)?.bytes);
}

function arrivalOf({ source, destination, ethernet }: DatagramFrame) {
  return {
    network,
    acceptRelays: false,
    sourceAddress: source,
    destinationAddress: destination,
    sourceMac: ethernet.source,
  };
}

function lineOf(type: string, payload: Uint8Array, outcome: OutcomeV6 | undefined): AgentLine {
  const envelope = decodeEnvelope(payload);
  const message = envelope.kind === "fault" ? undefined : envelope.message;
  const requested = message?.options.get(6) ?? new Uint8Array(0);
  return {
    type,
    options: [...(message?.options.all() ?? [])].map(([code]) => code),
    requested: Array.from(
      { length: requested.length / 2 },
      (_, at) => requested[2 * at]! * 256 + requested[2 * at + 1]!,
    ),
    addresses: (message?.ias ?? []).flatMap((ia) =>
      ia.kind === "prefixes" ? [] : ia.leases.map((each) => String(addressFrom(each))),
    ),
    outcome: outcome === undefined ? "ignored" : outcome.kind === "reply" ? outcome.type : outcome.reason,
    effects: outcome?.effects.map(({ kind }) => kind) ?? [],
  };
}

function onIcmp(frame: IcmpFrame): void {
  const question = decodeSolicitation(frame);
  if (question.kind === "router-solicitation") sender.solicited(question, Date.now());
  if (question.kind === "neighbor-solicitation") sendIcmp(answerNeighbor(pool, question, mac));
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const order = JSON.parse(line) as AgentOrder;
    if ("ignore" in order) ignored = order.ignore;
    else bind(order.bind, order.to);
    console.log(
      JSON.stringify({ type: "order", options: [], requested: [], addresses: [], outcome: "done", effects: [] }),
    );
  })
  .on("close", () => process.exit(0));

for (const packet of announceAddresses(pool, mac)) sendIcmp(packet);
console.log(JSON.stringify({ type: "ready", options: [], requested: [], addresses: [], outcome: "", effects: [] }));

/** A poll of 20 ms holds up nothing but this process's own input. */
function round(): void {
  waiting.writeInt32LE(socket, 0);
  waiting.writeInt16LE(linux.pollIn, 4);
  libc.poll(waiting, 1, 20);
  for (;;) {
    const bytes = libc.recv(socket, buffer, buffer.length, linux.dontWait);
    if (bytes < 0) break;
    // Whoever sends on this machine leaves checksums to a card that is not there.
    const frame = decodeFrameV6(buffer.subarray(0, bytes), { acceptPartialChecksum: true });
    if (frame.kind === "datagram") onDatagram(frame);
    if (frame.kind === "icmp") onIcmp(frame);
  }
  while (sender.nextMs <= Date.now()) {
    const due = sender.advertisement(pool, Date.now());
    if (due === undefined) break;
    sendIcmp(due);
  }
  setImmediate(round);
}
round();
