import fc from "fast-check";
import { expect, it } from "vitest";

import { encodeFrame, type Frame, scan } from "./frame.ts";

function scanned(bytes: Buffer): { frames: Frame[]; keep: number } {
  const frames: Frame[] = [];
  const keep = scan(bytes, (frame) => frames.push(frame));
  return { frames, keep };
}

const payloads = fc.array(
  fc.string({ unit: "grapheme", maxLength: 40 }).map((text) => text.replaceAll("\n", " ")),
  {
    maxLength: 6,
  },
);
const encoded = (texts: readonly string[]) => Buffer.concat(texts.map((text, i) => encodeFrame(i, text)));

it("reads back what it wrote, with its number", () => {
  fc.assert(
    fc.property(payloads, (texts) => {
      const bytes = encoded(texts);
      const { frames, keep } = scanned(bytes);
      expect(frames.map(({ payload }) => payload)).toEqual(texts);
      expect(frames.map(({ sequence }) => sequence)).toEqual(texts.map((_, i) => i));
      expect(keep).toBe(bytes.length);
    }),
  );
});

it("keeps all whole lines before a cut at any byte, and calls none of them damaged", () => {
  const texts = ["one", "zwei \u00e4", "{}", "x".repeat(50)];
  const bytes = encoded(texts);
  const ends = texts.map((_, i) => encoded(texts.slice(0, i + 1)).length);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const { frames, keep } = scanned(bytes.subarray(0, cut));
    const whole = ends.filter((end) => end <= cut).length;
    expect(frames.map(({ payload }) => payload)).toEqual(texts.slice(0, whole));
    expect(keep).toBe(whole === 0 ? 0 : ends[whole - 1]);
  }
});

it("takes zeros at the end for what was allocated and never written", () => {
  const bytes = encoded(["one", "two"]);
  const first = encoded(["one"]).length;
  for (let from = first; from <= bytes.length; from++) {
    const padded = Buffer.concat([bytes.subarray(0, from), Buffer.alloc(100)]);
    const { frames, keep } = scanned(padded);
    expect(frames.map(({ payload }) => payload)).toEqual(from === bytes.length ? ["one", "two"] : ["one"]);
    expect(keep).toBe(from === bytes.length ? bytes.length : first);
  }
});

it("reports every changed byte of any line as damage, and loses that line alone", () => {
  const texts = ["one", "two", "three"];
  const clean = encoded(texts);
  for (let at = 0; at < clean.length; at++) {
    for (const change of [1, 0x20, 0x80]) {
      const bytes = Buffer.from(clean);
      bytes[at] = bytes[at]! ^ change;
      const { frames, keep } = scanned(bytes);
      const read = frames.flatMap(({ payload }) => payload ?? []);
      expect(frames.filter(({ payload }) => payload === undefined)).toHaveLength(1);
      expect(read).toHaveLength(2);
      expect(texts).toEqual(expect.arrayContaining(read));
      expect(keep).toBe(clean.length);
    }
  }
});

it("never throws, and never reads what was not written, whatever the bytes are", () => {
  fc.assert(
    fc.property(payloads, fc.uint8Array({ maxLength: 200 }), payloads, (before, garbage, after) => {
      const bytes = Buffer.concat([encoded(before), garbage, encoded(after)]);
      const known = new Set([...before, ...after]);
      const { frames, keep } = scanned(bytes);
      for (const { payload } of frames) if (payload !== undefined) expect(known).toContain(payload);
      expect(keep).toBeLessThanOrEqual(bytes.length);
    }),
  );
});

it("refuses a payload that its length cannot say", () => {
  expect(() => encodeFrame(1, "x".repeat(2 ** 24))).toThrow(RangeError);
});
