// Rules in CEL that a definition's schema has (x-kubernetes-validations). Each row is one thing of the language: a
// value that keeps the rule and one that breaks it.
import { expect } from "vitest";

import { mergePatch, post } from "../call.ts";
import { definition, definitions, widgets } from "../crd.ts";
import type { Case, Subject } from "../fixture.ts";

interface Row {
  readonly says: string;
  /** The schema of spec.x. */
  readonly schema: object;
  readonly rule: string;
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
}

const integer = { type: "integer" };
const string = { type: "string", maxLength: 20 };
const strings = { type: "array", items: string, maxItems: 10 };
const of = (properties: object) => ({ type: "object", properties });

const rows: readonly Row[] = [
  {
    says: "two fields compared",
    schema: of({ low: integer, high: integer }),
    rule: "self.low <= self.high",
    good: [{ low: 1, high: 1 }],
    bad: [{ low: 2, high: 1 }, { low: 2 }],
  },
  {
    says: "a field that may be absent",
    schema: of({ low: integer, high: integer }),
    rule: "!has(self.high) || has(self.low) && self.low < self.high",
    good: [{}, { low: 1 }, { low: 1, high: 2 }],
    bad: [{ high: 1 }, { low: 1, high: 1 }],
  },
  { says: "whole numbers divide whole", schema: integer, rule: "self / 2 * 2 == self", good: [4, -2], bad: [7] },
  { says: "the rest of a division", schema: integer, rule: "self % 3 == 1 && -self < 0", good: [7], bad: [-7, 6] },
  { says: "fractions", schema: { type: "number" }, rule: "self / 2.0 > 0.4", good: [1, 2.5], bad: [0.5] },
  { says: "a division by zero", schema: integer, rule: "10 / self > 1", good: [2], bad: [0, 10] },
  {
    says: "texts",
    schema: string,
    rule: "self.startsWith('a') && self.endsWith(\"z\") && self.contains('-') && size(self) < 6",
    good: ["a-z", "a--z"],
    bad: ["az", "b-z", "a-----z"],
  },
  {
    says: "patterns",
    schema: string,
    rule: "self.matches('^[a-z]+(\\\\.[a-z]+)*$')",
    good: ["a.b"],
    bad: ["a.", "A"],
  },
  {
    says: "texts added up",
    schema: of({ a: string, b: string }),
    rule: "self.a + '/' + self.b != 'x/y'",
    good: [{ a: "x", b: "z" }],
    bad: [{ a: "x", b: "y" }],
  },
  { says: "a choice", schema: integer, rule: "self > 10 ? self < 20 : self > 5", good: [6, 11], bad: [5, 20] },
  { says: "membership", schema: string, rule: "self in ['tcp', 'udp']", good: ["tcp"], bad: ["sctp"] },
  { says: "all items", schema: strings, rule: "self.all(x, x.size() > 1)", good: [[], ["ab"]], bad: [["ab", "a"]] },
  { says: "some item", schema: strings, rule: "self.exists(x, x == 'a')", good: [["b", "a"]], bad: [[], ["b"]] },
  {
    says: "exactly one item",
    schema: strings,
    rule: "self.exists_one(x, x == 'a')",
    good: [["b", "a"]],
    bad: [["a", "a"], []],
  },
  {
    says: "items chosen and changed",
    schema: strings,
    rule: "self.filter(x, x != '-').map(x, x + '!').size() == 2 && self[0] != ''",
    good: [["a", "-", "b"]],
    bad: [
      ["a", "-"],
      ["", "b"],
    ],
  },
  {
    says: "a map's keys",
    schema: { type: "object", additionalProperties: integer, maxProperties: 5 },
    rule: "self.all(key, key.startsWith('a') && self[key] > 0) && 'a' in self",
    good: [{ a: 1, ab: 2 }],
    bad: [{ a: 0 }, { a: 1, b: 1 }, {}],
  },
  {
    says: "lists and maps that are equal",
    schema: of({ a: strings, b: strings }),
    rule: "self.a == self.b",
    good: [{ a: ["x"], b: ["x"] }],
    bad: [{ a: ["x"], b: ["y"] }],
  },
  {
    says: "names that are none of the language",
    schema: of({ "a-b": integer, in: integer }),
    rule: "self.a__dash__b == self.__in__",
    good: [{ "a-b": 1, in: 1 }],
    bad: [{ "a-b": 1, in: 2 }],
  },
  {
    says: "times",
    schema: { type: "string", format: "date-time" },
    rule: "self < timestamp('2030-01-01T00:00:00Z')",
    good: ["2026-01-01T00:00:00Z"],
    bad: ["2030-01-01T00:00:00Z"],
  },
  {
    says: "durations",
    schema: { type: "string", format: "duration" },
    rule: "self >= duration('1h')",
    good: ["90m"],
    bad: ["59m"],
  },
  {
    says: "an error that another part outweighs",
    schema: of({ a: integer, b: integer }),
    rule: "self.a / self.b > 1 || self.b == 0",
    good: [
      { a: 4, b: 2 },
      { a: 1, b: 0 },
    ],
    bad: [{ a: 1, b: 1 }],
  },
];

const ruled = (schema: object, ...rules: readonly object[]) => ({ ...schema, "x-kubernetes-validations": rules });
const spec = (x: object) => ({ type: "object", properties: { x } });

function rowCase({ schema, rule, good, bad }: Row): Case {
  return async (fixture) => {
    const w = await widgets(fixture, { spec: spec(ruled(schema, { rule, message: "as agreed" })) });
    for (const [at, x] of good.entries()) await fixture.api.done(post(w.at(), w.body(`good-${at}`, { spec: { x } })));
    for (const [at, x] of bad.entries()) {
      const status = await fixture.api.refused(post(w.at(), w.body(`bad-${at}`, { spec: { x } })), 422, "Invalid");
      expect(status.details?.causes?.map(({ field }) => field)).toEqual(["spec.x"]);
    }
  };
}

export const rules: Subject = {
  name: "rules in CEL",
  cases: {
    ...Object.fromEntries(rows.map((row) => [`a rule looks at ${row.says}`, rowCase(row)])),
    "a broken rule is told in the words of its author": async (fixture) => {
      const rule = { rule: "self < 3", message: "x is less than three" };
      const w = await widgets(fixture, { spec: spec(ruled(integer, rule)) });
      const status = await fixture.api.refused(post(w.at(), w.body("a", { spec: { x: 3 } })), 422, "Invalid");
      expect(status.message).toContain("spec.x: Invalid value: 3: x is less than three");
    },
    "or in its own, where its author has none": async (fixture) => {
      const w = await widgets(fixture, { spec: spec(ruled(integer, { rule: "self < 3" })) });
      const status = await fixture.api.refused(post(w.at(), w.body("a", { spec: { x: 3 } })), 422, "Invalid");
      expect(status.message).toContain("failed rule: self < 3");
    },
    "words may be worked out, and name a reason and a field": async (fixture) => {
      const rule = {
        rule: "!has(self.b)",
        messageExpression: "'not with ' + self.a",
        reason: "FieldValueForbidden",
        fieldPath: ".b",
      };
      const w = await widgets(fixture, { spec: spec(ruled(of({ a: string, b: integer }), rule)) });
      const status = await fixture.api.refused(
        post(w.at(), w.body("a", { spec: { x: { a: "seven", b: 1 } } })),
        422,
        "Invalid",
      );
      expect(status.details?.causes).toMatchObject([{ field: "spec.x.b", reason: "FieldValueForbidden" }]);
      expect(status.message).toContain("not with seven");
    },
    "every rule that is broken is told, also below": async (fixture) => {
      const x = ruled(of({ a: ruled(integer, { rule: "self > 1" }) }), { rule: "self.a > 2" }, { rule: "self.a > 3" });
      const w = await widgets(fixture, { spec: spec(x) });
      const status = await fixture.api.refused(post(w.at(), w.body("a", { spec: { x: { a: 0 } } })), 422, "Invalid");
      expect(status.details?.causes?.map(({ field }) => field).sort()).toEqual(["spec.x", "spec.x", "spec.x.a"]);
    },
    "a rule on what was before holds for updates only": async (fixture) => {
      const w = await widgets(fixture, {
        spec: spec(ruled(integer, { rule: "self >= oldSelf", message: "never less" })),
      });
      await fixture.api.done(post(w.at(), w.body("a", { spec: { x: 5 } })));
      await fixture.api.done(mergePatch(w.at("a"), { spec: { x: 6 } }));
      await fixture.api.refused(mergePatch(w.at("a"), { spec: { x: 5 } }), 422, "Invalid");
      await fixture.api.done(mergePatch(w.at("a"), { spec: { x: null } }));
      await fixture.api.done(mergePatch(w.at("a"), { spec: { x: 1 } }));
    },
    "items with keys are compared with what they were": async (fixture) => {
      const item = ruled(
        { ...of({ name: string, port: integer }), required: ["name"] },
        { rule: "self.port == oldSelf.port" },
      );
      const list = {
        type: "array",
        items: item,
        maxItems: 5,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
      };
      const w = await widgets(fixture, { spec: spec(list) });
      const [a, b] = [
        { name: "a", port: 1 },
        { name: "b", port: 2 },
      ];
      await fixture.api.done(post(w.at(), w.body("a", { spec: { x: [a] } })));
      await fixture.api.done(mergePatch(w.at("a"), { spec: { x: [b, a] } }));
      const status = await fixture.api.refused(
        mergePatch(w.at("a"), { spec: { x: [b, { ...a, port: 3 }] } }),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]?.field).toBe("spec.x[1]");
    },
    "a rule of the whole sees the name": async (fixture) => {
      const schema = ruled(
        { type: "object", properties: { spec: { type: "object" } } },
        { rule: "self.metadata.name.startsWith('w-')" },
      );
      const w = await widgets(fixture, { schema });
      await fixture.api.done(post(w.at(), w.body("w-1")));
      await fixture.api.refused(post(w.at(), w.body("v-1")), 422, "Invalid");
    },
    "what the schema itself refuses, no rule is asked about": async (fixture) => {
      const w = await widgets(fixture, { spec: spec(ruled(integer, { rule: "self > 1" })) });
      const status = await fixture.api.refused(post(w.at(), w.body("a", { spec: { x: "1" } })), 422, "Invalid");
      expect(status.message).not.toContain("failed rule");
    },
    ...Object.fromEntries(
      ["self.", "self.x ==", "other > 1", "self.frobnicate()", "has(self)"].map((rule) => [
        `a definition with the rule ${JSON.stringify(rule)} is refused`,
        async (fixture) => {
          const body = definition({ spec: spec(ruled(of({ x: integer }), { rule })) });
          const status = await fixture.api.refused(post(definitions, body), 422, "Invalid");
          expect(status.details?.causes?.[0]?.field).toContain("x-kubernetes-validations[0].rule");
        },
      ]) satisfies [string, Case][],
    ),
  },
};
