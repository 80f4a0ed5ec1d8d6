import { assert, constantFrom, jsonValue, property } from "fast-check";
import { expect, test } from "vitest";

import { duplicateFields } from "./duplicates.ts";

test.each([
  ['{"a":1,"b":2}', []],
  ['{"a":1,"a":2}', ["a"]],
  ['{"data":{"k":"1","k":"2"}}', ["data.k"]],
  ['{"l":[{"x":1},{"x":2}]}', []],
  ['{"l":[{"x":1,"x":2}],"m":{"x":1}}', ["l.x"]],
  ['{"a":"{\\"b\\":1,\\"b\\":2}"}', []],
  ['{"a" : "x" , "a" : "y"}', ["a"]],
  ['{"a":["a","a"]}', []],
])("%s", (text, expected) => {
  expect(duplicateFields(text)).toEqual(expected);
});

test("what JSON.stringify writes never has a key twice", () => {
  assert(
    property(jsonValue(), constantFrom(undefined, 2), (value, indent) => {
      expect(duplicateFields(JSON.stringify(value, null, indent))).toEqual([]);
    }),
  );
});
