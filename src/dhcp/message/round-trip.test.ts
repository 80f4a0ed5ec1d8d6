// The two directions against a slow oracle of RFC 3396: fields taken apart and put together the long way.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { toHex, unpack, unpackOptions } from "../../../test/dhcp/packet.ts";
import { word } from "../../../test/net/arbitrary.ts";
import { decodeMessage } from "./decode.ts";
import { encodeMessage, type Outgoing } from "./encode.ts";
import type { RawOption } from "./placement.ts";

const bytes = (maxLength: number) => fc.uint8Array({ maxLength, size: "max" });
const lengths = fc.oneof(
  { weight: 6, arbitrary: bytes(40) },
  { weight: 2, arbitrary: bytes(260) },
  { weight: 1, arbitrary: bytes(600) },
);
/** All codes but those that the codec itself has a say in. */
const code = fc.integer({ min: 1, max: 254 }).filter((each) => ![50, 52, 53, 54, 66, 67, 82].includes(each));
const options: fc.Arbitrary<RawOption[]> = fc
  .uniqueArray(fc.record({ code, data: lengths }), { selector: (each) => each.code, maxLength: 30 })
  .map((each) => [{ code: 53, data: Uint8Array.of(1) }, ...each]);

const uint16 = fc.integer({ min: 0, max: 0xffff });
const byte = fc.integer({ min: 0, max: 0xff });
/** A name as it stands in its field: printable, with room for the NUL. */
const name = (maxLength: number) => fc.array(fc.integer({ min: 0x21, max: 0x7e }), { minLength: 1, maxLength });
const text = (maxLength: number) =>
  fc.option(
    name(maxLength).map((each) => Uint8Array.from(each)),
    { nil: undefined },
  );

const outgoing: fc.Arbitrary<Outgoing> = fc.record({
  op: fc.constantFrom(1, 2),
  htype: byte,
  hops: byte,
  xid: word,
  secs: uint16,
  flags: uint16,
  ciaddr: word,
  yiaddr: word,
  siaddr: word,
  giaddr: word,
  chaddr: bytes(16),
  mayOverload: fc.boolean(),
  file: text(127),
  sname: text(63),
  options,
  relayAgent: fc.option(fc.uint8Array({ minLength: 1, maxLength: 300 }), { nil: undefined }),
});

/** Messages of this size take minutes to make smaller; seed and path of a failure are printed at once. */
const runs = { endOnFailure: true };

/** The buffer has rubbish in it, as after the message before. */
function sent(message: Outgoing, size: number) {
  return encodeMessage(message, size, new Uint8Array(2000).fill(0xa5), 46);
}

/** Code -> data of all appearances, put together as RFC 3396 section 7 says. */
function putTogether(fields: readonly (readonly (readonly [number, string])[])[]): Map<number, string> {
  const whole = new Map<number, string>();
  for (const [each, data] of fields.flat()) whole.set(each, (whole.get(each) ?? "") + data);
  return whole;
}

describe("what is sent", () => {
  it("is what a slow reader finds: each option whole or left out, nothing else, and no byte too many", () => {
    fc.assert(
      fc.property(outgoing, fc.integer({ min: 0, max: 2000 }), (message, size) => {
        const { bytes: datagram, leftOut } = sent(message, size);
        expect(datagram.length).toBeLessThanOrEqual(Math.min(Math.max(size, 576), 1500) - 28);
        const { options: first, file, sname } = unpack(datagram);
        const overload = Number(first.find(([each]) => each === 52)?.[1] ?? 0);
        const found = putTogether([
          first,
          overload & 1 ? unpackOptions(file) : [],
          overload & 2 ? unpackOptions(sname) : [],
        ]);
        if (!message.mayOverload) expect(overload).toBe(0);
        for (const option of message.options) {
          expect(found.get(option.code)).toBe(leftOut.includes(option.code) ? undefined : toHex(option.data));
          found.delete(option.code);
        }
        if (message.relayAgent !== undefined && !leftOut.includes(82)) {
          expect(found.get(82)).toBe(toHex(message.relayAgent));
          expect(first.at(-1)![0]).toBe(82);
          found.delete(82);
        }
        // What had to make room for options has become one.
        if (overload & 1 && message.file !== undefined && !leftOut.includes(67))
          expect(found.get(67)).toBe(toHex(message.file));
        if (overload & 2 && message.sname !== undefined && !leftOut.includes(66))
          expect(found.get(66)).toBe(toHex(message.sname));
        for (const allowed of [52, 66, 67]) found.delete(allowed);
        expect([...found.keys()]).toEqual([]);
        const wire = message.options.reduce(
          (sum, { data }) => sum + data.length + 2 * Math.max(1, Math.ceil(data.length / 255)),
          0,
        );
        const room = Math.min(Math.max(size, 576), 1500) - 28 - 241;
        if (wire <= room && message.relayAgent === undefined) expect([overload, leftOut]).toEqual([0, []]);
      }),
      { ...runs, numRuns: 500 },
    );
  });

  it("leaves out the largest, and no more of them than it must", () => {
    fc.assert(
      fc.property(outgoing, options, (header, list) => {
        const message = { ...header, options: list, relayAgent: undefined, file: undefined, sname: undefined };
        const { leftOut } = sent(message, 576);
        const sizes = (isOut: boolean) =>
          list.filter((each) => leftOut.includes(each.code) === isOut).map(({ data }) => data.length);
        expect(Math.min(...sizes(true), Infinity)).toBeGreaterThanOrEqual(Math.max(...sizes(false)));
        // With the last that was left out back in the list, not all of it has room.
        const again = list.filter((each) => !leftOut.includes(each.code) || each.code === leftOut.at(-1));
        if (leftOut.length > 0) expect(sent({ ...message, options: again }, 576).leftOut).toEqual([leftOut.at(-1)]);
      }),
      { ...runs, numRuns: 300 },
    );
  });
});

describe("what is received", () => {
  it("is what was sent", () => {
    fc.assert(
      fc.property(outgoing, (message) => {
        const { bytes: datagram, leftOut } = sent(message, 1500);
        const received = decodeMessage(datagram);
        if (received.kind === "fault") throw new Error(received.code);
        const {
          file: _file,
          sname: _sname,
          options: _options,
          relayAgent: _relayAgent,
          mayOverload: _may,
          ...header
        } = message;
        expect(received).toMatchObject(header);
        for (const option of message.options) {
          if (!leftOut.includes(option.code)) expect(received.options.get(option.code)).toEqual(option.data);
        }
      }),
      { ...runs, numRuns: 300 },
    );
  });

  it("is put together from any pieces in any fields", () => {
    const piece = fc.record({ code: code.filter((each) => each < 60), data: bytes(12) });
    const field = (room: number) =>
      fc
        .array(fc.oneof({ weight: 4, arbitrary: piece }, fc.constant("pad" as const)), { maxLength: 20 })
        .map((pieces) => {
          const kept: { code: number; data: Uint8Array }[] = [];
          const wire: number[] = [];
          for (const each of pieces) {
            if (each === "pad") {
              if (wire.length + 1 < room) wire.push(0);
            } else if (wire.length + 2 + each.data.length < room) {
              wire.push(each.code, each.data.length, ...each.data);
              kept.push(each);
            }
          }
          return { wire: [...wire, 255], kept };
        });
    fc.assert(
      fc.property(field(400), field(128), field(64), fc.constantFrom(0, 1, 2, 3), (first, file, sname, overload) => {
        const head = new Uint8Array(240);
        head.set([1, 1, 6]);
        head.set(sname.wire, 44);
        head.set(file.wire, 108);
        head.set([99, 130, 83, 99], 236);
        const received = decodeMessage(Uint8Array.from([...head, 52, 1, overload, ...first.wire]));
        if (received.kind === "fault") throw new Error(received.code);
        const pieces = [first.kept, overload & 1 ? file.kept : [], overload & 2 ? sname.kept : []].flat();
        const whole = Map.groupBy(pieces, (each) => each.code);
        expect(received.options.codes().filter((each) => each !== 52)).toEqual([...whole.keys()]);
        for (const [each, parts] of whole) {
          expect(received.options.get(each)).toEqual(Uint8Array.from(parts.flatMap(({ data }) => [...data])));
        }
      }),
      { ...runs, numRuns: 500 },
    );
  });
});
