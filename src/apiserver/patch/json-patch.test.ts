import { describe, expect, test } from "vitest";

import type { JsonValue } from "../json.ts";
import { applyJsonPatch, parseJsonPatch } from "./json-patch.ts";

const run = (target: JsonValue, ...operations: JsonValue[]) => applyJsonPatch(target, parseJsonPatch(operations));

describe("operations", () => {
  const table: [string, JsonValue, JsonValue[], JsonValue][] = [
    ["add a key", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
    ["add over a key", { a: 1 }, [{ op: "add", path: "/a", value: 2 }], { a: 2 }],
    ["insert into a list", { a: [1, 3] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2, 3] }],
    ["append to a list", { a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
    ["remove from a list", { a: [1, 2, 3] }, [{ op: "remove", path: "/a/1" }], { a: [1, 3] }],
    ["replace in a list", { a: [1, 2] }, [{ op: "replace", path: "/a/1", value: 5 }], { a: [1, 5] }],
    ["move", { a: 1 }, [{ op: "move", from: "/a", path: "/b" }], { b: 1 }],
    ["copy", { a: { x: 1 } }, [{ op: "copy", from: "/a", path: "/b" }], { a: { x: 1 }, b: { x: 1 } }],
    [
      "escaped keys",
      { "a/b": 1, "c~d": 2 },
      [
        { op: "remove", path: "/a~1b" },
        { op: "add", path: "/c~0d", value: 3 },
      ],
      { "c~d": 3 },
    ],
    ["test that holds", { a: { b: [1] } }, [{ op: "test", path: "/a", value: { b: [1] } }], { a: { b: [1] } }],
    ["test of null where nothing is", { a: 1 }, [{ op: "test", path: "/x", value: null }], { a: 1 }],
    ["replace of an absent key", { a: 1 }, [{ op: "replace", path: "/x", value: 1 }], { a: 1, x: 1 }],
    ["the whole", { a: 1 }, [{ op: "replace", path: "", value: { b: 1 } }], { b: 1 }],
  ];
  test.each(table)("%s", (_name, target, operations, expected) => {
    expect(run(target, ...operations)).toEqual(expected);
  });
});

test("the target is left as it was", () => {
  const target = { a: { b: 1 } };
  run(target, { op: "add", path: "/a/c", value: 2 });
  expect(target).toEqual({ a: { b: 1 } });
});

test("a key called __proto__ is a key", () => {
  const result = run({ a: {} }, { op: "add", path: "/a/__proto__", value: { polluted: true } });
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  expect(JSON.stringify(result)).toBe('{"a":{"__proto__":{"polluted":true}}}');
});

describe("refusals", () => {
  const table: [string, JsonValue, number][] = [
    ["a test that fails", { op: "test", path: "/a", value: 2 }, 422],
    ["remove of nothing", { op: "remove", path: "/x" }, 422],
    ["add below nothing", { op: "add", path: "/x/y", value: 1 }, 422],
    ["an index beyond the list", { op: "add", path: "/l/7", value: 1 }, 422],
    ["an unknown operation", { op: "twist", path: "/a" }, 422],
    ["no value", { op: "add", path: "/b" }, 400],
    ["no pointer", { op: "remove", path: "a" }, 400],
  ];
  test.each(table)("%s", (_name, operation, code) => {
    expect(() => run({ a: 1, l: [] }, operation)).toThrow(expect.objectContaining({ code }));
  });
  test("more than 10,000 operations", () => {
    const many = Array.from({ length: 10_001 }, () => ({ op: "remove", path: "/a" }));
    expect(() => parseJsonPatch(many)).toThrow(expect.objectContaining({ code: 413 }));
  });
});
