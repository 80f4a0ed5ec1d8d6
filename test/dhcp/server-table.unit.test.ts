// A server's replies by field and option: table 3 of RFC 2131 section 4.3.1, with the client identifier of RFC 6842.
import { describe, expect, it } from "vitest";

import { Fixture, type Sent } from "./fixture.ts";
import { ipHex, type Unpacked } from "./packet.ts";

const ours = ipHex("192.168.48.2");
const its = ipHex("192.168.48.81");
const identifier = "ff00000001000100012b3c4d5e020000000011";
/** What a client may ask for, and what it must not get back. */
const asking = { 55: "0103060f1c3233343536373839", 57: "05dc", 61: identifier, 60: "756468637063", 51: "0000003c" };
const common = { xid: 0xcafe_f00d, secs: 7, hops: 3, flags: 0xffff };
const relay = { giaddr: "192.168.48.254", acceptRelays: true };

const pool = {
  nextServer: { value: 0xc0a8_3009 } as never,
  bootFileName: "pxelinux.0",
  tftpServerName: "boot.example",
};

interface Columns {
  readonly offer: Unpacked;
  readonly ack: Unpacked;
  readonly renewal: Unpacked;
  readonly informed: Unpacked;
  readonly nak: Unpacked;
}

function columns(extra: Sent): Columns {
  const fixture = new Fixture({ pool });
  const send = (sent: Sent) => fixture.reply({ ...common, ...extra, ...sent });
  return {
    offer: send({ options: { 53: "01", 50: its, ...asking } }),
    ack: send({ options: { 53: "03", 50: its, 54: ours, ...asking } }),
    renewal: send({ ciaddr: "192.168.48.81", options: { 53: "03", ...asking } }),
    informed: send({ ciaddr: "192.168.48.81", options: { 53: "08", ...asking } }),
    nak: send({ options: { 53: "03", 50: ipHex("10.9.9.9"), ...asking } }),
  };
}

const direct = columns({});
const relayed = columns(relay);

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1").replace(/\0+$/, "");
/** Option's data in hexadecimal, or undefined. */
const option = ({ options }: Unpacked, code: number) => options.find(([found]) => found === code)?.[1];

describe("fields", () => {
  const same = (value: unknown) => [value, value, value, value, value] as const;
  it.each<readonly [string, (reply: Unpacked) => unknown, readonly unknown[]]>([
    //                                      OFFER            ACK              ACK of a renewal ACK of an INFORM NAK
    ["op", (reply) => reply.op, same(2)],
    ["htype", (reply) => reply.htype, same(1)],
    ["hlen", (reply) => reply.hlen, same(6)],
    ["hops", (reply) => reply.hops, same(0)],
    ["xid", (reply) => reply.xid, same(0xcafe_f00d)],
    ["secs", (reply) => reply.secs, same(0)],
    ["ciaddr", (reply) => reply.ciaddr, ["0.0.0.0", "0.0.0.0", "192.168.48.81", "192.168.48.81", "0.0.0.0"]],
    ["yiaddr", (reply) => reply.yiaddr, ["192.168.48.81", "192.168.48.81", "192.168.48.81", "0.0.0.0", "0.0.0.0"]],
    ["siaddr", (reply) => reply.siaddr, ["192.168.48.9", "192.168.48.9", "192.168.48.9", "192.168.48.9", "0.0.0.0"]],
    ["flags", (reply) => reply.flags, same(0x8000)],
    ["chaddr", (reply) => reply.chaddr, same("02000000001100000000000000000000")],
    ["sname", (reply) => text(reply.sname), ["boot.example", "boot.example", "boot.example", "boot.example", ""]],
    ["file", (reply) => text(reply.file), ["pxelinux.0", "pxelinux.0", "pxelinux.0", "pxelinux.0", ""]],
  ])("%s", (_, read, [offer, ack, renewal, informed, nak]) => {
    for (const each of [direct, relayed]) {
      expect(read(each.offer)).toBe(offer);
      expect(read(each.ack)).toBe(ack);
      expect(read(each.renewal)).toBe(renewal);
      expect(read(each.informed)).toBe(informed);
      expect(read(each.nak)).toBe(nak);
    }
  });

  it("giaddr is that of the message", () => {
    expect(Object.values(direct).map(({ giaddr }: Unpacked) => giaddr)).toEqual(same("0.0.0.0"));
    expect(Object.values(relayed).map(({ giaddr }: Unpacked) => giaddr)).toEqual(same("192.168.48.254"));
  });

  it("a relay is made to broadcast a NAK, whatever the client can take", () => {
    const sent = { options: { 53: "03", 50: ipHex("10.9.9.9") } };
    expect(new Fixture().reply({ ...sent, ...relay }).flags).toBe(0x8000);
    expect(new Fixture().reply(sent).flags).toBe(0);
  });
});

describe("options", () => {
  const absent = undefined;
  const message = expect.stringMatching(/^(?:[2-7][0-9a-f])+$/);
  const never = [absent, absent, absent, absent, absent];
  it.each<readonly [string, number, readonly unknown[]]>([
    //                                  OFFER       ACK         renewal     INFORM      NAK
    ["requested address", 50, never],
    ["lease time", 51, ["00000258", "00000258", "00000258", absent, absent]],
    ["overload", 52, never],
    ["message type", 53, ["02", "05", "05", "05", "06"]],
    ["parameter request list", 55, never],
    ["message", 56, [absent, absent, absent, absent, message]],
    ["client identifier", 61, [identifier, identifier, identifier, identifier, identifier]],
    ["vendor class identifier", 60, never],
    ["server identifier", 54, [ours, ours, ours, ours, ours]],
    ["maximum message size", 57, never],
    ["T1", 58, ["0000012c", "0000012c", "0000012c", absent, absent]],
    ["T2", 59, ["0000020d", "0000020d", "0000020d", absent, absent]],
    ["all others: subnet mask", 1, ["ffffff00", "ffffff00", "ffffff00", "ffffff00", absent]],
    ["all others: routers", 3, ["c0a83001", "c0a83001", "c0a83001", "c0a83001", absent]],
    ["all others: broadcast address", 28, ["c0a830ff", "c0a830ff", "c0a830ff", "c0a830ff", absent]],
  ])("%s", (_, code, [offer, ack, renewal, informed, nak]) => {
    for (const each of [direct, relayed]) {
      expect(option(each.offer, code)).toEqual(offer);
      expect(option(each.ack, code)).toEqual(ack);
      expect(option(each.renewal, code)).toEqual(renewal);
      expect(option(each.informed, code)).toEqual(informed);
      expect(option(each.nak, code)).toEqual(nak);
    }
  });

  it("the client identifier is sent only to who has one", () => {
    expect(option(new Fixture().reply({ options: { 53: "01" } }), 61)).toBeUndefined();
  });
});
