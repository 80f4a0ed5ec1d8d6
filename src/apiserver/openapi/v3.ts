// OpenAPI v3: an index, and one document for each group and version.
import { createHash } from "node:crypto";

import type { JsonObject } from "../json.ts";
import type { Registry } from "../registry/registry.ts";
import type { Resource } from "../registry/resource.ts";
import { definitionsOf, withReferences, writtenPaths } from "./model.ts";

/** `api/v1` or `apis/GROUP/VERSION`. */
const rootOf = ({ group, version }: Resource) => (group === "" ? `api/${version}` : `apis/${group}/${version}`);

export function indexV3(registry: Registry): JsonObject {
  const paths: JsonObject = {};
  for (const root of new Set(registry.all().map(rootOf))) {
    const hash = createHash("sha256")
      .update(JSON.stringify(documentV3(registry, root)))
      .digest("hex")
      .slice(0, 32);
    paths[root] = { serverRelativeURL: `/openapi/v3/${root}?hash=${hash.toUpperCase()}` };
  }
  return { paths };
}

export function documentV3(registry: Registry, root: string): JsonObject | undefined {
  const resources = registry.all().filter((resource) => rootOf(resource) === root);
  if (resources.length === 0) return undefined;
  const schemas: JsonObject = {};
  for (const [name, schema] of Object.entries(definitionsOf(registry, resources))) {
    schemas[name] = withReferences(schema, "#/components/schemas/");
  }
  const paths = writtenPaths(resources, {
    parameter: { schema: { type: "string", uniqueItems: true } },
    answer: ({ definition }) => ({
      content: { "application/json": { schema: { $ref: `#/components/schemas/${definition}` } } },
    }),
  });
  return {
    openapi: "3.0.0",
    info: { title: "Holdfast embedded API", version: "v1.36.3" },
    paths,
    components: { schemas },
  };
}
