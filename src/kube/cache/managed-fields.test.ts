import fc from "fast-check";
import { expect, it } from "vitest";

import { withoutManagedFields } from "./managed-fields.ts";

const cut = (object: unknown): unknown => JSON.parse(withoutManagedFields(JSON.stringify(object)));

it.each([
  [
    "between others",
    { metadata: { labels: { a: "b" }, managedFields: [{ manager: "x" }], name: "n" }, spec: { x: 1 } },
  ],
  ["first", { metadata: { managedFields: [], name: "n" } }],
  ["last", { metadata: { name: "n", managedFields: [{ fieldsV1: { 'k:{"a":"]"}': {} } }] }, kind: "K" }],
  ["alone", { metadata: { managedFields: [1, [2, "]}"]] } }],
])("cuts them out: %s", (_, object) => {
  const { managedFields: _cut, ...metadata } = object.metadata;
  expect(cut(object)).toEqual({ ...object, metadata });
});

it.each([
  ["there are none", { metadata: { name: "n" } }],
  ["they are somebody else's", { spec: { managedFields: [1] }, metadata: { name: "n" } }],
  ["they are deeper", { metadata: { name: "n" }, spec: { template: { metadata: { managedFields: [1] } } } }],
  ["it is a text", { metadata: { annotations: { last: '{"metadata":{"managedFields":[1]}}' } } }],
  ["metadata is a text", { a: "metadata", b: { managedFields: [1] } }],
  ["metadata is a list", { metadata: [{ managedFields: [1] }] }],
])("leaves the object alone where %s", (_, object) => {
  expect(withoutManagedFields(JSON.stringify(object))).toBe(JSON.stringify(object));
});

it("of any object leaves what is there without them, also of a text that is cut short or spread over lines", () => {
  const fields = fc.array(fc.jsonValue({ stringUnit: "binary" }), { maxLength: 4 });
  const keys = fc.constantFrom("metadata", "managedFields", "name", "a", '"', "\\");
  const object = fc.dictionary(keys, fc.oneof(fc.jsonValue(), fc.dictionary(keys, fc.oneof(fields, fc.jsonValue()))));
  fc.assert(
    fc.property(object, fc.nat(200), (value, short) => {
      const text = JSON.stringify(value);
      const { managedFields: _cut, ...metadata } = Object(value["metadata"]) as Record<string, unknown>;
      // Compared as texts: JSON.parse of V8 13.6 confuses keys that differ only in what they escape.
      expect([text, JSON.stringify({ ...value, metadata })]).toContain(withoutManagedFields(text));
      const indented = JSON.stringify(value, null, 1);
      expect(withoutManagedFields(indented)).toBe(indented);
      withoutManagedFields(text.slice(0, short)); // ends
    }),
    { numRuns: 1000 },
  );
});
