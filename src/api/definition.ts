// The CustomResourceDefinition of a kind, from its schema. A structural schema, as apiextensions.k8s.io/v1 demands.
// Promised: what a schema leaves open stays open (x-kubernetes-preserve-unknown-fields), so that fields of whereabouts,
// its forks and later versions of ours are never pruned. Not promised: that the API server checks everything:
// refinements (a range that parses, say) are not in it.
import { z } from "zod";

import type { Kind } from "./kind.ts";

type JsonSchema = { [key: string]: unknown };

export interface Definition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

export function definitionOf(kind: Kind): Definition {
  const { group, version, plural, singular, shortNames, columns } = kind;
  const openAPIV3Schema = objectSchema(kind);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind: kind.kind, listKind: `${kind.kind}List`, plural, singular, shortNames },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema },
          ...("status" in openAPIV3Schema.properties && kind.plainStatus !== true && { subresources: { status: {} } }),
          additionalPrinterColumns: [...columns.map(column), age],
        },
      ],
    },
  };
}

const column = ([name, jsonPath, priority]: Kind["columns"][number]) => ({
  name,
  type: "string",
  jsonPath,
  ...(priority && { priority }),
});
const age = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" } as const;

/** The API server's own business: it refuses a schema that says more of them. */
const common = { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" } };

function objectSchema(kind: Kind): JsonSchema & { readonly properties: JsonSchema } {
  const whole: JsonSchema = z.toJSONSchema(kind.schema, {
    target: "openapi-3.0",
    io: "input",
    override: ({ jsonSchema }) => tidy(jsonSchema as JsonSchema),
  });
  const { apiVersion: _, kind: __, metadata: ___, ...properties } = whole["properties"] as JsonSchema;
  const required = (whole["required"] as string[]).filter((name) => name in properties);
  return {
    description: kind.description,
    type: "object",
    properties: { ...common, ...properties },
    ...(required.length > 0 && { required }),
  };
}

function tidy(schema: JsonSchema): void {
  if ("properties" in schema && "additionalProperties" in schema) {
    delete schema["additionalProperties"];
    schema["x-kubernetes-preserve-unknown-fields"] = true;
  }
  if (schema["x-kubernetes-int-or-string"] === true) delete schema["anyOf"];
  if (schema["type"] === "integer") {
    // JavaScript's limits of exactness are not limits of the field.
    if (schema["minimum"] === Number.MIN_SAFE_INTEGER) delete schema["minimum"];
    if (schema["maximum"] === Number.MAX_SAFE_INTEGER) delete schema["maximum"];
    schema["format"] = "int64";
  }
}
