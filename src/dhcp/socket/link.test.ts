// What comes of a frame on a link, without a socket: answers with their tag, other servers, echo, what is not ours.
import { expect, test } from "vitest";

import { fold, sumWords } from "../../frame/checksum.ts";
import { V4Address } from "../../net/address.ts";
import { type Mac, macToBytes, parseMac } from "../../net/mac.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { decodeFrame, encodeFrame, type Frame, frameBufferBytes, payloadAt } from "../frame/frame.ts";
import { encodeMessage } from "../message/encode.ts";
import { compileBinding } from "../server/binding.ts";
import { Network } from "../server/network.ts";
import type { Effect } from "../server/outcome.ts";
import { compilePool } from "../server/pool.ts";
import { ReplyWriter } from "../server/send.ts";
import { DhcpServer } from "../server/server.ts";
import { AnsweredAddresses } from "./answered.ts";
import type { LinkDefinition } from "./interface.ts";
import { Link } from "./link.ts";

const serverMac = parseMac("02:00:00:00:00:01");
const clientMac = parseMac("02:00:00:00:00:11");
const address = (last: number) => 0x0a2a_0000 + last;
const everybody = 0xffff_ffff;
const ipv4 = 0x0800;
const now = { ms: 0, wallMs: 0 };

function fixture(definition: Partial<LinkDefinition> = {}) {
  const server = new DhcpServer();
  const network = new Network("n");
  server.setNetwork(network);
  const subnet = parsePrefix("10.42.0.0/16");
  const serverIdentifier = new V4Address(address(1));
  network.setPool(compilePool({ name: "p", subnet, serverIdentifier, leaseSeconds: 60 }));
  network.bindings.set(compileBinding({ address: new V4Address(address(9)), pool: "p", mac: clientMac }));
  const effects: Effect[] = [];
  const frames: Uint8Array[] = [];
  const sent: Uint8Array[] = [];
  const sink = {
    server,
    effects: (outcome: { readonly effects: readonly Effect[] }) => effects.push(...outcome.effects),
    contested: () => {},
    frame: (_: string, frame: Uint8Array) => frames.push(frame),
    traced: () => {},
  };
  const answered = new AnsweredAddresses();
  const link = new Link({ network: "n", interface: "eth0", ...definition }, network, answered, sink);
  const outlet = {
    mac: macToBytes(serverMac),
    vlan: definition.vlan,
    writer: new ReplyWriter(),
    send: (frame: Uint8Array) => sent.push(frame.slice()),
  };
  const receive = (frame: Uint8Array, isGiven = false, type = ipv4, at = 14) =>
    link.receive(frame, type, at, isGiven, outlet, now);
  return { link, network, answered, effects, frames, sent, receive };
}

interface Sent {
  readonly type?: number;
  readonly to?: number;
  readonly giaddr?: number;
  readonly op?: number;
  readonly server?: number;
  readonly port?: number;
  readonly mac?: Mac;
}

function dhcp({
  type = 1,
  to = everybody,
  giaddr = 0,
  op = 1,
  server,
  port = 67,
  mac = clientMac,
}: Sent = {}): Uint8Array {
  const buffer = new Uint8Array(frameBufferBytes);
  const options = [{ code: 53, data: Uint8Array.of(type) }];
  if (server !== undefined) options.push({ code: 54, data: Uint8Array.of(10, 42, 0, server) });
  const fixed = { op, htype: 1, hops: 0, xid: 7, secs: 0, flags: 0, ciaddr: 0, yiaddr: 0, siaddr: 0, giaddr };
  const message = { ...fixed, chaddr: macToBytes(mac), mayOverload: false, options };
  const { bytes } = encodeMessage(message, 1500, buffer, payloadAt);
  const ethernet = { destination: new Uint8Array(6).fill(255), source: macToBytes(mac) };
  const addresses = { sourceAddress: giaddr, destinationAddress: to };
  const headers = { ethernet, ...addresses, sourcePort: port === 67 ? 68 : 67, destinationPort: port };
  return encodeFrame(headers, bytes.length, buffer).slice();
}

const read = (frame: Uint8Array | undefined) => decodeFrame(frame!, { acceptPartialChecksum: false }) as Frame;

test("an offer goes to the client's MAC, from the interface's, with the link's tag", () => {
  const { sent, receive } = fixture({ vlan: 48 });
  receive(dhcp());
  const { ethernet, sourceAddress, destinationAddress } = read(sent[0]);
  expect(ethernet).toMatchObject({ destination: macToBytes(clientMac), source: macToBytes(serverMac), vlan: 48 });
  expect([sourceAddress, destinationAddress]).toEqual([address(1), address(9)]);
});

test.each([
  ["everybody", everybody, true],
  ["the subnet's broadcast address", 0x0a2a_ffff, true],
  ["the server identifier", address(1), true],
  ["an address that is answered for", address(5), true],
  ["another host", address(6), false],
  ["everybody elsewhere", 0x0a2b_ffff, false],
])("a message to %s", (_, to, isAnswered) => {
  const { answered, link, sent, receive } = fixture();
  answered.add(address(5), 0);
  receive(dhcp({ to }));
  expect([sent.length, link.ignored]).toEqual(isAnswered ? [1, 0] : [0, 1]);
});

test("a wrong checksum is a fault, unless the kernel vouches for it", () => {
  const { network, sent, receive } = fixture();
  const frame = dhcp();
  frame[40] = frame[40]! ^ 0x55;
  receive(frame);
  expect([sent.length, network.tally().faults.get("bad-udp-checksum")]).toEqual([0, 1]);
  receive(frame, true);
  expect(sent).toHaveLength(1);
});

test("a relay on the link is answered at the MAC that it came from, where relays may ask", () => {
  const relayed = dhcp({ giaddr: address(2), to: address(1) });
  const refused = fixture();
  refused.receive(relayed);
  expect(refused.sent).toEqual([]);
  const { sent, receive } = fixture({ acceptRelays: true });
  receive(relayed);
  const { ethernet, destinationAddress, destinationPort } = read(sent[0]);
  expect(ethernet.destination).toEqual(relayed.slice(6, 12));
  expect([destinationAddress, destinationPort]).toEqual([address(2), 67]);
});

test("another server's answer is told of; one with our identifier is another agent's", () => {
  const { effects, sent, receive } = fixture();
  receive(dhcp({ op: 2, type: 2, server: 1, port: 68 }));
  expect(effects).toEqual([]);
  receive(dhcp({ op: 2, type: 2, server: 66, port: 68 }));
  expect(effects).toEqual([
    { kind: "foreign-server", network: "n", server: new V4Address(address(66)), mac: clientMac },
  ]);
  expect(sent).toEqual([]);
});

function echo(to: number): Uint8Array {
  const frame = new Uint8Array(14 + 20 + 12);
  const view = new DataView(frame.buffer);
  frame.set(macToBytes(serverMac), 0);
  frame.set(macToBytes(clientMac), 6);
  frame.set([8, 0, 0x45, 0, 0, 32, 0, 0, 0, 0, 64, 1], 12);
  view.setUint32(26, address(9));
  view.setUint32(30, to);
  view.setUint16(24, fold(sumWords(frame, 14, 34, 0)));
  frame.set([8, 0, 0, 0, 0, 7, 0, 1, 1, 2, 3, 4], 34);
  view.setUint16(36, fold(sumWords(frame, 34, 46, 0)));
  return frame;
}

test("an echo request is answered for an address that is on, and for no other", () => {
  const { answered, link, sent, receive } = fixture();
  answered.add(address(1), 0);
  receive(echo(address(2)));
  expect([sent.length, link.ignored]).toEqual([0, 1]);
  receive(echo(address(1)));
  const [reply] = sent;
  expect(reply?.slice(0, 12)).toEqual(Uint8Array.of(...macToBytes(clientMac), ...macToBytes(serverMac)));
  expect(reply?.slice(26, 34)).toEqual(Uint8Array.of(10, 42, 0, 1, 10, 42, 0, 9));
  expect([fold(sumWords(reply!, 14, 34, 0)), fold(sumWords(reply!, 34, 46, 0))]).toEqual([0, 0]);
  expect([reply![34], ...reply!.slice(38)]).toEqual([0, 0, 7, 0, 1, 1, 2, 3, 4]);
});

test("a damaged echo request is nobody's, at any length", () => {
  const { answered, sent, receive } = fixture();
  answered.add(address(1), 0);
  const whole = echo(address(1));
  for (let length = 18; length < whole.length; length++) receive(whole.slice(0, length));
  expect(sent).toEqual([]);
});

test("IPv6 is handed on where the link has it", () => {
  const frame = new Uint8Array(60);
  const without = fixture();
  without.receive(frame, false, 0x86dd);
  expect([without.frames.length, without.link.ignored]).toEqual([0, 1]);
  const { frames, receive } = fixture({ ipv6: true });
  receive(frame, false, 0x86dd);
  expect(frames).toEqual([frame]);
});
