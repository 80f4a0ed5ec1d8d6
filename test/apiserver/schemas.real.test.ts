// The schemas and field numbers of the built-in kinds are what a real server publishes.
// HOLDFAST_WRITE_SCHEMAS=1 writes the files anew, after a new version of Kubernetes was chosen.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { request, Agent } from "undici";
import { expect, test } from "vitest";

import type { JsonObject } from "../../src/apiserver/json.ts";
import { builtinResources, reviewKinds } from "../../src/apiserver/registry/builtin.ts";
import { startRealServer } from "../conformance/api/real-server.ts";
import { condense } from "./condense.ts";
import { fieldNumbers, readMessages } from "./field-numbers.ts";

const folder = join(import.meta.dirname, "..", "..", "src", "apiserver", "schema");
const isWriting = process.env["HOLDFAST_WRITE_SCHEMAS"] === "1";

/** Kinds that are sent and never stored. */
const sent = [
  "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
  "io.k8s.api.policy.v1.Eviction",
  "io.k8s.api.core.v1.Binding",
  ...reviewKinds.map(({ group, version, kind }) => `io.k8s.api.${group.split(".")[0]}.${version}.${kind}`),
];

/** One definition a line, so that a change shows in a diff. */
function written(name: string, content: JsonObject): JsonObject {
  const path = join(folder, name);
  const lines = Object.entries(content).map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  if (isWriting) writeFileSync(path, `{\n${lines.join(",\n")}\n}\n`);
  return JSON.parse(readFileSync(path, "utf8")) as JsonObject;
}

test("builtin.json is the shape of what the real server publishes", { timeout: 180_000 }, async () => {
  const server = await startRealServer();
  const agent = new Agent({ connect: server.caPem === undefined ? {} : { ca: server.caPem } });
  try {
    const headers = { authorization: `Bearer ${server.token}`, accept: "application/json" };
    const answer = await request(`${server.url}/openapi/v2`, { dispatcher: agent, headers });
    const roots = [...builtinResources.map(({ definition }) => definition), ...sent];
    const condensed = condense((await answer.body.json()) as JsonObject, roots);
    expect(written("builtin.json", condensed)).toEqual(condensed);
  } finally {
    await agent.destroy();
    await server.stop();
  }
});

test("field-numbers.json has the numbers of the .proto files", { timeout: 180_000 }, () => {
  const definitions = JSON.parse(readFileSync(join(folder, "builtin.json"), "utf8")) as JsonObject;
  const numbers = fieldNumbers(readMessages(), definitions);
  expect(written("field-numbers.json", numbers)).toEqual(numbers);
});
