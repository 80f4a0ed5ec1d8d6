// What a definition's schema lets in. Each row is one keyword: a value that passes, one that is refused, and where.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Case, Subject } from "../fixture.ts";

interface Row {
  readonly says: string;
  /** The schema of spec.x. */
  readonly schema: object;
  readonly good: readonly unknown[];
  readonly bad: readonly unknown[];
  /** The field of the cause, when it is not spec.x itself; null where the server names none. */
  readonly field?: string | null;
}

const string = { type: "string" };
const keyed = {
  type: "array",
  items: { type: "object", properties: { name: string, port: { type: "integer" } }, required: ["name"] },
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
};

const rows: readonly Row[] = [
  { says: "type string", schema: string, good: ["v", ""], bad: [1, true, {}, []] },
  { says: "type integer", schema: { type: "integer" }, good: [0, -3], bad: ["1", 1.5] },
  { says: "type number", schema: { type: "number" }, good: [1.5, 2], bad: ["1"] },
  { says: "type boolean", schema: { type: "boolean" }, good: [true, false], bad: ["true", 0] },
  { says: "type object", schema: { type: "object", properties: { y: string } }, good: [{}], bad: ["v", []] },
  { says: "type array", schema: { type: "array", items: string }, good: [[], ["v"]], bad: ["v", {}] },
  { says: "items", schema: { type: "array", items: string }, good: [["v"]], bad: [["v", 1]], field: "spec.x[1]" },
  {
    says: "additionalProperties",
    schema: { type: "object", additionalProperties: string },
    good: [{ a: "v" }],
    bad: [{ a: 1 }],
    field: "spec.x.a",
  },
  { says: "enum", schema: { type: "string", enum: ["a", "b"] }, good: ["a"], bad: ["c"] },
  { says: "minimum and maximum", schema: { type: "integer", minimum: 1, maximum: 3 }, good: [1, 3], bad: [0, 4] },
  { says: "exclusiveMinimum", schema: { type: "integer", minimum: 1, exclusiveMinimum: true }, good: [2], bad: [1] },
  { says: "multipleOf", schema: { type: "integer", multipleOf: 5 }, good: [10], bad: [7] },
  {
    says: "minLength and maxLength",
    schema: { type: "string", minLength: 2, maxLength: 3 },
    good: ["ab", "äöü"],
    bad: ["a", "abcd"],
  },
  { says: "pattern", schema: { type: "string", pattern: "^[a-z]+$" }, good: ["abc"], bad: ["ABC"] },
  {
    says: "minItems and maxItems",
    schema: { type: "array", items: string, minItems: 1, maxItems: 2 },
    good: [["a"]],
    bad: [[], ["a", "b", "c"]],
  },
  {
    says: "maxProperties",
    schema: { type: "object", additionalProperties: string, maxProperties: 1 },
    good: [{ a: "v" }],
    bad: [{ a: "v", b: "v" }],
  },
  {
    says: "required",
    schema: { type: "object", properties: { y: string }, required: ["y"] },
    good: [{ y: "v" }],
    bad: [{}],
    field: "spec.x.y",
  },
  { says: "nullable", schema: { type: "string", nullable: true }, good: [null, "v"], bad: [1] },
  {
    says: "format date-time",
    schema: { type: "string", format: "date-time" },
    good: ["2026-01-02T03:04:05Z"],
    bad: ["yesterday"],
  },
  { says: "format ipv4", schema: { type: "string", format: "ipv4" }, good: ["192.0.2.1"], bad: ["192.0.2.256"] },
  { says: "format cidr", schema: { type: "string", format: "cidr" }, good: ["192.0.2.0/24"], bad: ["192.0.2.0"] },
  { says: "format ipv6", schema: { type: "string", format: "ipv6" }, good: ["2001:db8::1"], bad: ["192.0.2.1"] },
  { says: "format mac", schema: { type: "string", format: "mac" }, good: ["02:00:00:00:00:01"], bad: ["02:00"] },
  {
    says: "format uuid",
    schema: { type: "string", format: "uuid" },
    good: ["0b5ac4d2-2d5b-4fd1-9b0c-6c1d9a3d5b1e"],
    bad: ["none"],
  },
  { says: "format date", schema: { type: "string", format: "date" }, good: ["2026-01-02"], bad: ["2026-13-45"] },
  { says: "format duration", schema: { type: "string", format: "duration" }, good: ["1h30m"], bad: ["soon"] },
  {
    says: "format hostname",
    schema: { type: "string", format: "hostname" },
    good: ["a.example.com"],
    bad: ["no spaces"],
  },
  { says: "format byte", schema: { type: "string", format: "byte" }, good: ["aGVsbG8="], bad: ["%%%"] },
  { says: "maxLength in characters", schema: { type: "string", maxLength: 3 }, good: ["🚢🚢🚢"], bad: ["🚢🚢🚢🚢"] },
  { says: "pattern without anchors", schema: { type: "string", pattern: "b+" }, good: ["abc"], bad: ["xyz"] },
  {
    says: "pattern in Go's syntax",
    schema: { type: "string", pattern: "(?i)^[[:alpha:]]+$" },
    good: ["aBc"],
    bad: ["a1"],
  },
  { says: "an enum of numbers", schema: { type: "integer", enum: [1, 2] }, good: [2], bad: [3] },
  {
    says: "a list of lists",
    schema: { type: "array", items: { type: "array", items: string } },
    good: [[["a"]]],
    bad: [[["a"], [1]]],
    field: "spec.x[1][0]",
  },
  {
    says: "x-kubernetes-int-or-string",
    schema: { "x-kubernetes-int-or-string": true },
    good: [1, "10%"],
    bad: [true, 1.5],
  },
  {
    says: "list-type set",
    schema: { type: "array", items: string, "x-kubernetes-list-type": "set" },
    good: [["a", "b"]],
    bad: [["a", "a"]],
    field: "spec.x[1]",
  },
  {
    says: "list-type map",
    schema: keyed,
    good: [[{ name: "a" }, { name: "b" }]],
    bad: [[{ name: "a" }, { name: "a" }]],
    field: "spec.x[1]",
  },
  { says: "anyOf", schema: { type: "integer", anyOf: [{ maximum: 1 }, { minimum: 5 }] }, good: [0, 6], bad: [3] },
  {
    says: "oneOf",
    schema: { type: "integer", oneOf: [{ maximum: 5 }, { minimum: 3 }] },
    good: [1, 9],
    bad: [4],
    field: null,
  },
  { says: "allOf", schema: { type: "integer", allOf: [{ maximum: 5 }, { minimum: 3 }] }, good: [4], bad: [1] },
  { says: "not", schema: { type: "string", not: { enum: ["no"] } }, good: ["yes"], bad: ["no"], field: null },
];

/** One case per row; everything is tried as a dry run, which validates alike. */
const keyword = ({ says, schema, good, bad, field = "spec.x" }: Row): [string, Case] => [
  `${says} is enforced`,
  async (fixture) => {
    const w = await widgets(fixture, { spec: { type: "object", properties: { x: schema } } });
    const trial = (x: unknown) => post(w.at(), w.body("a", { spec: { x } }), { dryRun: "All" });
    for (const value of good) await fixture.api.done(trial(value));
    for (const value of bad) {
      const status = await fixture.api.refused(trial(value), 422, "Invalid");
      expect(status.details).toMatchObject({ name: "a", group: w.group, kind: "Widget" });
      if (field !== null) expect(status.details?.causes?.map((cause) => cause.field)).toContain(field);
    }
  },
];

export const schemas: Subject = {
  name: "schema validation",
  cases: {
    ...Object.fromEntries(rows.map(keyword)),
    "a patch is validated by its result": async (fixture) => {
      const w = await widgets(fixture, {
        spec: { type: "object", properties: { x: { type: "integer", maximum: 3 } } },
      });
      await fixture.api.done(post(w.at(), w.body("a", { spec: { x: 1 } })));
      await fixture.api.refused(mergePatch(w.at("a"), { spec: { x: 4 } }), 422, "Invalid");
      expect((await fixture.api.done(get(w.at("a"))))["spec"]).toEqual({ x: 1 });
    },
    "the status is validated when it is written": async (fixture) => {
      const status = { type: "object", properties: { y: { type: "integer" } } };
      const w = await widgets(fixture, { status, subresources: { status: {} } });
      await fixture.api.done(post(w.at(), w.body("a")));
      const answer = await fixture.api.refused(
        mergePatch(w.at("a", "status"), { status: { y: "one" } }),
        422,
        "Invalid",
      );
      expect(answer.details?.causes?.map(({ field }) => field)).toContain("status.y");
    },
    "the message names the object and every fault": async (fixture) => {
      const w = await widgets(fixture, {
        spec: { type: "object", properties: { x: string, y: { type: "integer" } }, required: ["z"] },
      });
      const status = await fixture.api.refused(post(w.at(), w.body("a", { spec: { x: 1, y: "v" } })), 422, "Invalid");
      expect(status.message).toMatch(/^Widget\.g[0-9a-f]+\.holdfast\.test "a" is invalid: \[/);
      const fields = status.details?.causes?.map(({ field }) => field) ?? [];
      expect(fields).toEqual(expect.arrayContaining(["spec.x", "spec.y", "spec.z"]));
    },
    "the metadata of a custom resource is validated like any other": async (fixture) => {
      const w = await widgets(fixture);
      const status = await fixture.api.refused(post(w.at(), w.body("Upper")), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "metadata.name" });
    },
    "an element that is there three times is told of once": async (fixture) => {
      const items = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
      const keys = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] };
      const w = await widgets(fixture, {
        spec: { type: "object", properties: { ports: { type: "array", items, ...keys } } },
      });
      const ports = ["a", "a", "a", "b", "b"].map((name) => ({ name }));
      const status = await fixture.api.refused(post(w.at(), w.body("a", { spec: { ports } })), 422, "Invalid");
      expect(status.details?.causes?.map(({ field }) => field)).toEqual(["spec.ports[1]", "spec.ports[4]"]);
    },
  },
};
