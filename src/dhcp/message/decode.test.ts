// Messages off the wire: one written out by hand, every fault, every truncation, overload.
import { describe, expect, it } from "vitest";

import { hex, ip, ipHex, packet, type Packet, toHex } from "../../../test/dhcp/packet.ts";
import { bootTexts, decodeMessage, type Message } from "./decode.ts";

function decoded(bytes: Uint8Array): Message {
  const message = decodeMessage(bytes);
  if (message.kind === "fault") throw new Error(message.code);
  return message;
}

const all = ({ options }: Message) => options.codes().map((code) => [code, toHex(options.get(code)!)]);

describe("a DISCOVER, byte by byte (RFC 2131 section 2, figure 1)", () => {
  const bytes = hex(`
    01 01 06 00  3903f326  0005 8000  00000000 00000000 00000000 00000000
    0800274a1b2c 00000000000000000000
    ${"00".repeat(64)} ${"00".repeat(128)}
    63825363
    35 01 01  00 00  3d 07 01 0800274a1b2c  32 04 c0a80115  0c 03 6c6162  37 04 01 03 06 2a  ff 00 00`);

  it("has these fields", () => {
    expect(decoded(bytes)).toMatchObject({
      op: 1,
      htype: 1,
      hops: 0,
      xid: 0x3903_f326,
      secs: 5,
      flags: 0x8000,
      ciaddr: 0,
      yiaddr: 0,
      siaddr: 0,
      giaddr: 0,
      chaddr: hex("0800274a1b2c"),
      type: 1,
      overload: 0,
    });
  });

  it("has these options, without the padding", () => {
    expect(all(decoded(bytes))).toEqual([
      [53, "01"],
      [61, "010800274a1b2c"],
      [50, "c0a80115"],
      [12, "6c6162"],
      [55, "0103062a"],
    ]);
    expect(decoded(bytes).options.get(54)).toBeUndefined();
  });
});

it("addresses of the fixed part are unsigned", () => {
  const message = decoded(
    packet({ ciaddr: "192.0.2.1", yiaddr: "255.255.255.255", siaddr: "128.0.0.0", giaddr: "10.0.0.1" }),
  );
  expect([message.ciaddr, message.yiaddr, message.siaddr, message.giaddr]).toEqual(
    ["192.0.2.1", "255.255.255.255", "128.0.0.0", "10.0.0.1"].map((text) => ip(text).value),
  );
});

describe("faults", () => {
  const whole = packet({ options: { 53: "01" } });
  const without = (at: number, byte: number) => whole.with(at, byte);
  it.each<readonly [string, Uint8Array, string]>([
    ["nothing", hex(""), "message-too-short"],
    ["one byte less than the cookie needs", whole.subarray(0, 239), "message-too-short"],
    ["a hardware address of 17 bytes", without(2, 17), "bad-hardware-length"],
    ["another cookie", without(239, 0x64), "no-cookie"],
    ["no message type, and cut off", packet({ options: { 12: "61" }, tail: "3201" }), "truncated"],
    ["message type of no bytes", packet({ options: { 53: "" } }), "bad-option"],
    ["message type of two bytes", packet({ options: { 53: "0102" } }), "bad-option"],
    [
      "message type twice",
      packet({
        options: [
          [53, "01"],
          [53, "01"],
        ],
      }),
      "bad-option",
    ],
    ["requested address of five bytes", packet({ options: { 53: "01", 50: "0102030405" } }), "bad-option"],
    ["server identifier of no bytes", packet({ options: { 53: "03", 54: "" } }), "bad-option"],
  ])("%s: %s", (_, bytes, code) => {
    expect(decodeMessage(bytes)).toMatchObject({ kind: "fault", code });
  });

  it("the fixed part and the cookie alone are BOOTP", () => {
    expect(decoded(packet({ tail: "" })).type).toBeUndefined();
  });
});

describe("cut off within an option, it is taken where its meaning is clear", () => {
  const its = ipHex("192.168.48.81");
  const ours = ipHex("192.168.48.2");
  it.each<readonly [string, Packet, boolean]>([
    ["DISCOVER", { options: { 53: "01" } }, true],
    ["INFORM", { options: { 53: "08" } }, true],
    ["REQUEST with server and address", { options: { 53: "03", 54: ours, 50: its } }, true],
    ["REQUEST with an address: a server may have followed", { options: { 53: "03", 50: its } }, false],
    ["REQUEST with a server: an address may have followed", { options: { 53: "03", 54: ours } }, false],
    ["DECLINE", { options: { 53: "04", 54: ours, 50: its } }, false],
    ["RELEASE", { options: { 53: "07", 54: ours } }, false],
  ])("%s", (_, fields, isTaken) => {
    // A code without a length; a length without data; one byte of data too few.
    for (const tail of ["0c", "0c05", "0c056162"]) {
      const message = decodeMessage(packet({ ...fields, tail }));
      expect(message.kind).toBe(isTaken ? "message" : "fault");
      if (message.kind === "message") {
        expect(message.options.isTruncated).toBe(true);
        expect(message.options.has(12)).toBe(false);
      }
    }
  });

  it.each<readonly [string, Packet]>([
    ["file", { options: { 52: "01", 53: "07" }, file: new Uint8Array(128).fill(12) }],
    ["sname", { options: { 52: "02", 53: "07" }, sname: new Uint8Array(64).fill(12) }],
  ])("also in %s", (_, fields) => {
    expect(decodeMessage(packet(fields))).toMatchObject({ kind: "fault", code: "truncated" });
  });

  it("a missing END cuts nothing off", () => {
    const message = decoded(packet({ options: { 53: "07", 54: ours }, tail: "" }));
    expect(message.options.isTruncated).toBe(false);
  });

  it("what stands behind END is not looked at", () => {
    expect(decoded(packet({ options: { 53: "03" }, tail: "ff0c05" })).options.codes()).toEqual([53]);
  });
});

describe("options that appear several times are one (RFC 3396)", () => {
  it("in the order options, file, sname", () => {
    const message = decoded(
      packet({
        options: [
          [53, "01"],
          [52, "03"],
          [12, "61"],
          [15, "78"],
          [12, "62"],
        ],
        file: hex("0c0163 00 0c0164 ff 0c0165"),
        sname: hex("0c0166 ff"),
      }),
    );
    expect(toHex(message.options.get(12)!)).toBe("6162636466");
    expect(toHex(message.options.get(15)!)).toBe("78");
    expect(message.options.codes()).toEqual([53, 52, 12, 15]);
  });

  it("a number that was cut into bytes is whole again", () => {
    const message = decoded(
      packet({
        options: [
          [53, "01"],
          [50, "c0a8"],
          [50, "3051"],
        ],
      }),
    );
    expect(message.options.uint(50, 4)).toBe(0xc0a8_3051);
  });

  it.each<readonly [string, string, readonly number[]]>([
    ["file", "01", [52, 53, 1]],
    ["sname", "02", [52, 53, 2]],
    ["both", "03", [52, 53, 1, 2]],
    ["a value that there is not", "04", [52, 53]],
    ["two bytes", "0101", [52, 53]],
  ])("overload: %s", (_, value, codes) => {
    const fields = { file: hex("0101aa ff"), sname: hex("0201bb ff") };
    expect(decoded(packet({ ...fields, options: { 53: "01", 52: value } })).options.codes()).toEqual(codes);
  });

  it("overload within file overloads nothing", () => {
    const message = decoded(
      packet({ options: { 53: "01", 52: "01" }, file: hex("340103 ff"), sname: hex("0201bb ff") }),
    );
    expect(message.options.codes()).toEqual([52, 53]);
  });
});

it("names of the fixed part end with their NUL, and are none where options stand", () => {
  const texts = { sname: Buffer.from("boot\0x"), file: Buffer.from("a".repeat(128)) };
  const read = (fields: Packet) => {
    const { sname, file } = bootTexts(decoded(packet({ ...texts, ...fields })));
    return [Buffer.from(sname).toString(), Buffer.from(file).toString()];
  };
  expect(read({ options: { 53: "01" } })).toEqual(["boot", "a".repeat(128)]);
  expect(read({ options: { 53: "01", 52: "03" } })).toEqual(["", ""]);
});
