import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { ItemSplitter } from "./item-splitter.ts";

/** Cuts at the given places, wherever they fall: in the middle of a key, an escape or a UTF-8 sequence. */
function split(text: string, cuts: readonly number[], maxItemBytes?: number) {
  const whole = new TextEncoder().encode(text);
  const items: unknown[] = [];
  const splitter = new ItemSplitter((item) => items.push(JSON.parse(item)), maxItemBytes);
  const places = [...cuts.map((cut) => cut % (whole.length + 1)), 0, whole.length].sort((a, b) => a - b);
  for (let i = 1; i < places.length; i++) splitter.push(whole.subarray(places[i - 1], places[i]));
  return { items, envelope: splitter.end() };
}

const cuts = fc.array(fc.nat(10_000), { maxLength: 30 });

describe("agrees with JSON.parse, whatever the chunk borders", () => {
  test("lists of anything", () => {
    const list = fc.record({
      kind: fc.string({ unit: "binary" }),
      items: fc.array(fc.jsonValue({ stringUnit: "binary" }), { maxLength: 8 }),
      metadata: fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue(), { maxKeys: 4 }),
    });
    fc.assert(
      fc.property(list, cuts, fc.constantFrom(undefined, 1, "\t"), (value, at, indent) => {
        const text = JSON.stringify(value, null, indent);
        const parsed = JSON.parse(text) as typeof value;
        const { items, envelope } = split(text, at);
        expect(items).toEqual(parsed.items);
        expect(envelope).toEqual({ ...parsed, items: [] });
      }),
      { numRuns: 500 },
    );
  });

  test("documents where items is not the list of a list", () => {
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.record({ items: fc.oneof(fc.constant(null), fc.string(), fc.dictionary(fc.string(), fc.jsonValue())) }),
      fc.record({ nested: fc.record({ items: fc.array(fc.integer()) }) }),
      fc.tuple(fc.constant("items"), fc.array(fc.integer())),
    );
    fc.assert(
      fc.property(odd, cuts, (value, at) => {
        const isList =
          typeof value === "object" &&
          value !== null &&
          "items" in value &&
          Array.isArray((value as { items: unknown }).items);
        fc.pre(!isList);
        const text = JSON.stringify(value);
        expect(split(text, at)).toEqual({ items: [], envelope: JSON.parse(text) });
      }),
      { numRuns: 300 },
    );
  });

  test("what JSON.parse refuses is refused, for texts with one byte removed", () => {
    const list = fc.record({ items: fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 4 }), a: fc.jsonValue() });
    fc.assert(
      fc.property(list, fc.nat(), cuts, (value, victim, at) => {
        const text = JSON.stringify(value);
        const broken = text.slice(0, victim % text.length) + text.slice((victim % text.length) + 1);
        let expected: { items?: unknown } | undefined;
        try {
          expected = JSON.parse(broken) as { items?: unknown };
        } catch {
          expect(() => split(broken, at)).toThrow();
          return;
        }
        fc.pre(Array.isArray(expected.items));
        expect(split(broken, at).items).toEqual(expected.items);
      }),
      { numRuns: 500 },
    );
  });
});

test.each([
  ["an escaped key", String.raw`{"\u0069tems":[1]}`, [1]],
  ["no items", `{"items":[]}`, []],
  ["white space everywhere", ` { "items" : [ 1 , { "a" : "]" } ] , "b" : 2 } `, [1, { a: "]" }]],
])("%s", (_name, text, expected) => {
  expect(split(text, [3]).items).toEqual(expected);
});

test.each([
  ["cut inside the items", `{"items":[{"a":1},{"b"`],
  ["a trailing comma", `{"items":[1,]}`],
  ["only a comma", `{"items":[,]}`],
  ["closed by a brace", `{"items":[1}}`],
])("refuses %s", (_name, text) => {
  expect(() => split(text, [])).toThrow(SyntaxError);
});

test("an item above the limit is refused, and not gathered", () => {
  expect(() => split(`{"items":["${"x".repeat(200)}"]}`, [50, 100], 100)).toThrow(RangeError);
});
