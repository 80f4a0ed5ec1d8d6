import { describe, expect, it, test } from "vitest";

import { definitionOf } from "./definition.ts";
import { kinds } from "./kinds.ts";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Every schema inside a schema, with its path. */
function* schemas(schema: Json, path = ""): Generator<[string, { [key: string]: Json }]> {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return;
  yield [path, schema];
  for (const [name, inner] of Object.entries(schema["properties"] ?? {})) yield* schemas(inner, `${path}.${name}`);
  yield* schemas(schema["items"] ?? null, `${path}[]`);
  yield* schemas(schema["additionalProperties"] ?? null, `${path}.*`);
}

describe.each(kinds.map((kind) => [kind.kind, kind] as const))("the definition of %s", (_, kind) => {
  const definition = JSON.parse(JSON.stringify(definitionOf(kind))) as {
    spec: { versions: [{ schema: { openAPIV3Schema: Json } }] };
  };
  const all = [...schemas(definition.spec.versions[0].schema.openAPIV3Schema)];

  it("is structural: a type everywhere, and no alternatives", () => {
    for (const [path, schema] of all) {
      const typed = "type" in schema || schema["x-kubernetes-int-or-string"] === true;
      expect([path, typed]).toEqual([path, true]);
      for (const word of ["anyOf", "oneOf", "allOf", "not", "$ref", "nullable"])
        expect([path, schema]).not.toHaveProperty(`1.${word}`);
      expect([path, "properties" in schema && "additionalProperties" in schema]).toEqual([path, false]);
    }
  });

  it("prunes nothing below spec and status", () => {
    const closed = all.filter(
      ([path, schema]) =>
        /^\.(spec|status)/.test(path) &&
        schema["type"] === "object" &&
        "properties" in schema &&
        schema["x-kubernetes-preserve-unknown-fields"] !== true,
    );
    expect(closed.map(([path]) => path)).toEqual([]);
  });
});

test("allocations are written whole", () => {
  const text = JSON.stringify(definitionOf(kinds[0]!));
  expect(text).toContain('"x-kubernetes-map-type":"atomic"');
});
