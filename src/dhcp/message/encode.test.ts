// Messages onto the wire: one written out by hand, the least and the largest, and where long options go.
import { describe, expect, it } from "vitest";

import { hex, toHex, unpack, unpackOptions } from "../../../test/dhcp/packet.ts";
import { encodeMessage, type Outgoing } from "./encode.ts";
import { messageTypeName } from "./message-type.ts";

const plain: Outgoing = {
  op: 2,
  htype: 1,
  hops: 0,
  xid: 0x3903_f326,
  secs: 0,
  flags: 0x8000,
  ciaddr: 0,
  yiaddr: 0xc0a8_0115,
  siaddr: 0xc0a8_0109,
  giaddr: 0,
  chaddr: hex("0800274a1b2c"),
  mayOverload: true,
  options: [
    { code: 53, data: hex("02") },
    { code: 54, data: hex("c0a80102") },
    { code: 51, data: hex("00000e10") },
  ],
};

const encode = (message: Partial<Outgoing>, size = 576) => {
  const buffer = new Uint8Array(1600).fill(0xa5);
  const { bytes, leftOut } = encodeMessage({ ...plain, ...message }, size, buffer, 50);
  expect(toHex(buffer.subarray(0, 50))).toBe("a5".repeat(50));
  expect(toHex(buffer.subarray(50 + bytes.length))).toBe("a5".repeat(1600 - 50 - bytes.length));
  return { bytes, leftOut };
};

const data = (length: number, value = 0x61) => new Uint8Array(length).fill(value);

it("an OFFER, byte by byte", () => {
  const { bytes } = encode({ file: Buffer.from("pxe"), sname: Buffer.from("boot") });
  expect(toHex(bytes)).toBe(
    toHex(
      hex(`
      02 01 06 00  3903f326  0000 8000  00000000 c0a80115 c0a80109 00000000
      0800274a1b2c 00000000000000000000
      626f6f74 ${"00".repeat(60)} 707865 ${"00".repeat(125)}
      63825363
      350102 3604c0a80102 330400000e10 ff ${"00".repeat(44)}`),
    ),
  );
});

describe("long options (RFC 3396)", () => {
  it.each<readonly [number, readonly number[]]>([
    [255, [255]],
    [256, [255, 1]],
    [510, [255, 255]],
    [511, [255, 255, 1]],
  ])("%i bytes go as %j", (length, pieces) => {
    const { bytes } = encode({ options: [...plain.options, { code: 43, data: data(length) }] }, 1500);
    const found = unpack(bytes).options.filter(([code]) => code === 43);
    expect(found.map(([, each]) => each.length / 2)).toEqual(pieces);
  });

  it("an empty option is sent as one", () => {
    const { bytes } = encode({ options: [...plain.options, { code: 80, data: data(0) }] });
    expect(unpack(bytes).options.at(-1)).toEqual([80, ""]);
  });
});

describe("what does not fit", () => {
  // 576 - 28 - 240 = 308: END, and 15 of type, server and lease leave 292.
  it("292 bytes fit, one more does not", () => {
    const options = [...plain.options, { code: 43, data: data(253) }, { code: 12, data: data(35) }];
    const fits = encode({ options });
    expect(fits.bytes).toHaveLength(548);
    expect(unpack(fits.bytes).options.map(([code]) => code)).toEqual([53, 54, 51, 43, 12]);
    const larger = [...options.slice(0, -1), { code: 12, data: data(36) }];
    const overloaded = unpack(encode({ options: larger }).bytes);
    expect(overloaded.options.map(([code]) => code)).toEqual([53, 54, 51, 43, 52]);
    expect(overloaded.options.at(-1)).toEqual([52, "01"]);
    expect(unpackOptions(overloaded.file).map(([code]) => code)).toEqual([12]);
  });

  it("goes into file, then into sname, and is left out beyond", () => {
    const options = [200, 201, 202, 203].map((code) => ({ code, data: data(code === 203 ? 61 : 125) }));
    const { bytes, leftOut } = encode({ options: [...plain.options, ...options, { code: 204, data: data(200) }] });
    const { options: first, file, sname } = unpack(bytes);
    expect(first.map(([code]) => code)).toEqual([53, 54, 51, 200, 201, 52]);
    expect(first.at(-1)).toEqual([52, "03"]);
    expect(unpackOptions(file).map(([code]) => code)).toEqual([202]);
    expect(unpackOptions(sname).map(([code]) => code)).toEqual([203]);
    expect(leftOut).toEqual([204]);
  });

  it("an option of 450 bytes is laid over all three fields, in order", () => {
    const value = Uint8Array.from({ length: 450 }, (_, index) => index);
    const { bytes, leftOut } = encode({ options: [...plain.options, { code: 119, data: value }] });
    const { options: first, file, sname } = unpack(bytes);
    const pieces = [first, unpackOptions(file), unpackOptions(sname)].flat().filter(([code]) => code === 119);
    expect(pieces.map(([, each]) => each).join("")).toBe(toHex(value));
    expect(leftOut).toEqual([]);
  });

  it("relay agent information has its room kept in the options field", () => {
    const options = [...plain.options, { code: 43, data: data(200) }, { code: 12, data: data(60) }];
    const { options: first, file } = unpack(encode({ options, relayAgent: data(40, 1) }).bytes);
    expect(first.map(([code]) => code)).toEqual([53, 54, 51, 43, 52, 82]);
    expect(first.at(-1)).toEqual([82, "01".repeat(40)]);
    expect(unpackOptions(file).map(([code]) => code)).toEqual([12]);
  });

  it("relay agent information that fills the message is left out", () => {
    expect(encode({ relayAgent: data(284) }).leftOut).toEqual([]);
    expect(encode({ relayAgent: data(288) }).leftOut).toEqual([82]);
  });

  it("where file and sname may have no options, the largest is left out", () => {
    const options = [...plain.options, { code: 61, data: data(200) }, { code: 56, data: data(100) }];
    const { bytes, leftOut } = encode({ options, mayOverload: false, file: data(10) });
    expect(unpack(bytes).options.map(([code]) => code)).toEqual([53, 54, 51, 56]);
    expect(leftOut).toEqual([61]);
    expect(unpack(bytes).file[0]).toBe(0x61);
  });

  it("a name that leaves no room for its NUL is not in the field", () => {
    const { file, sname } = unpack(encode({ file: data(128), sname: data(64) }).bytes);
    expect([...file, ...sname].every((byte) => byte === 0)).toBe(true);
    const fitting = unpack(encode({ file: data(127), sname: data(63) }).bytes);
    expect([fitting.file[126], fitting.file[127], fitting.sname[62], fitting.sname[63]]).toEqual([0x61, 0, 0x61, 0]);
  });
});

it("names of message types", () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 9, 0].map(messageTypeName)).toEqual([
    "DISCOVER",
    "OFFER",
    "REQUEST",
    "DECLINE",
    "ACK",
    "NAK",
    "RELEASE",
    "INFORM",
    undefined,
    undefined,
  ]);
});
