// OpenAPI, as far as kubectl reads it: to explain, to validate, to apply.
import { expect } from "vitest";

import { get } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { dig } from "../object.ts";
import { until } from "../until.ts";

type Schema = Readonly<Record<string, unknown>>;
interface V2 {
  readonly swagger: string;
  readonly definitions: Readonly<Record<string, Schema>>;
  readonly paths: Readonly<Record<string, unknown>>;
}
interface V3 {
  readonly openapi: string;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, unknown>>;
}
interface Index {
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
}

const gvkOf = (schema: Schema) =>
  (schema["x-kubernetes-group-version-kind"] ?? []) as readonly { group: string; version: string; kind: string }[];

const byKind = (schemas: Readonly<Record<string, Schema>>, group: string, kind: string) =>
  Object.values(schemas).find((schema) => gvkOf(schema).some((gvk) => gvk.group === group && gvk.kind === kind));

async function document(fixture: Fixture, key: string): Promise<V3> {
  const { paths } = await fixture.api.done<Index>(get("/openapi/v3"));
  const { serverRelativeURL } = paths[key] ?? { serverRelativeURL: "" };
  expect(serverRelativeURL).toMatch(/^\/openapi\/v3\/.+\?hash=/);
  const url = new URL(serverRelativeURL, "https://server");
  return fixture.api.done<V3>(get(url.pathname, Object.fromEntries(url.searchParams)));
}

export const openApi: Subject = {
  name: "OpenAPI",
  cases: {
    "v2 is served with a definition for every kind": async (fixture) => {
      const spec = await fixture.api.done<V2>(get("/openapi/v2"));
      expect(spec.swagger).toBe("2.0");
      for (const [group, kind] of [
        ["", "Pod"],
        ["", "ConfigMap"],
        ["coordination.k8s.io", "Lease"],
      ] as const) {
        expect([kind, byKind(spec.definitions, group, kind)]).toEqual([
          kind,
          expect.objectContaining({ type: "object" }),
        ]);
      }
      expect(spec.paths).toHaveProperty("/api/v1/namespaces/{namespace}/configmaps");
    },
    "v3 lists its documents, one per group and version": async (fixture) => {
      const { paths } = await fixture.api.done<Index>(get("/openapi/v3"));
      expect(Object.keys(paths)).toEqual(
        expect.arrayContaining(["api/v1", "apis/coordination.k8s.io/v1", "apis/apps/v1"]),
      );
    },
    "v3 describes a kind field by field": async (fixture) => {
      const spec = await document(fixture, "api/v1");
      expect(spec.openapi).toMatch(/^3\.0/);
      const configMap = byKind(spec.components.schemas, "", "ConfigMap");
      expect(Object.keys(configMap?.["properties"] ?? {})).toEqual(
        expect.arrayContaining(["apiVersion", "kind", "metadata", "data", "binaryData", "immutable"]),
      );
      expect(configMap?.["description"]).toEqual(expect.any(String));
    },
    "v3 has the paths, by which kubectl explain finds a resource's kind": async (fixture) => {
      const spec = await document(fixture, "api/v1");
      const operation = dig(spec.paths, "/api/v1/namespaces/{namespace}/configmaps/{name}", "get");
      expect(operation).toMatchObject({
        "x-kubernetes-group-version-kind": { group: "", version: "v1", kind: "ConfigMap" },
      });
    },
    "a custom resource is in v3 with its schema": async (fixture) => {
      const spec = { type: "object", properties: { colour: { type: "string", description: "what it looks like" } } };
      const w = await widgets(fixture, { spec });
      await until("the group is in OpenAPI v3", async () => {
        const { paths } = await fixture.api.done<Index>(get("/openapi/v3"));
        return paths[`apis/${w.group}/v1`] !== undefined;
      });
      const { components } = await document(fixture, `apis/${w.group}/v1`);
      const widget = byKind(components.schemas, w.group, "Widget");
      expect(dig(widget, "properties", "spec", "properties", "colour")).toMatchObject({
        type: "string",
        description: "what it looks like",
      });
    },
    "a custom resource is in v2 with its schema": async (fixture) => {
      const spec = { type: "object", properties: { colour: { type: "string" } } };
      const w = await widgets(fixture, { spec });
      const widget = await until("the kind is in OpenAPI v2", async () => {
        const { definitions } = await fixture.api.done<V2>(get("/openapi/v2"));
        return byKind(definitions, w.group, "Widget");
      });
      expect(dig(widget, "properties", "spec", "properties", "colour")).toMatchObject({ type: "string" });
    },
    "keyed lists are marked, for those who merge": async (fixture) => {
      const spec = await fixture.api.done<V2>(get("/openapi/v2"));
      const podSpec = Object.entries(spec.definitions).find(([name]) => name.endsWith("core.v1.PodSpec"))?.[1];
      expect(dig(podSpec, "properties", "containers")).toMatchObject({
        type: "array",
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
      });
    },
  },
};
