// What a client may send to do harm: it is refused with a 4xx and words, or kept as it is, and the server goes on.
import { describe, expect, test } from "vitest";

import type { Api } from "../../src/apiserver/api.ts";
import { dig, parseJson } from "../../src/apiserver/json.ts";
import type { JsonValue } from "../../src/apiserver/json.ts";
import { call, map, maps, open } from "./in-process.ts";

const secrets = "/api/v1/namespaces/default/secrets";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const widgets = "/apis/hostile.test/v1/namespaces/default/widgets";

/** A text as it is, whatever JSON.stringify would make of it. */
async function send(api: Api, method: string, path: string, body: string | Uint8Array, type = "application/json") {
  const response = await api.transport({ method, path, headers: { "content-type": type }, body });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  return { status: response.status, text, body: parseJson(text) };
}

async function withWidgets(): Promise<Api> {
  const api = open();
  const loose = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const spec = { type: "object", properties: { open: loose, number: { type: "number" }, port: { type: "integer" } } };
  const names = { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  const definition = { group: "hostile.test", scope: "Namespaced", names, versions };
  await call(api, "POST", definitions, { metadata: { name: "widgets.hostile.test" }, spec: definition });
  return api;
}

const widget = (spec: string) =>
  `{"apiVersion":"hostile.test/v1","kind":"Widget","metadata":{"name":"a"},"spec":${spec}}`;

describe("words that every JavaScript object knows", () => {
  for (const word of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    test(`${word} is a key like any other`, async () => {
      const api = await withWidgets();
      const entry = `{${JSON.stringify(word)}:"v"}`;
      const made = await send(api, "POST", maps, `{"metadata":{"name":"a"},"data":${entry},"binaryData":{"k":"AAAA"}}`);
      expect(made.status).toBe(201);
      expect(Object.entries(dig(made.body, "data") as object)).toEqual([[word, "v"]]);
      const merge = `{"metadata":{"annotations":${entry}},"data":{"k":null}}`;
      const patched = await send(api, "PATCH", `${maps}/a`, merge, "application/merge-patch+json");
      expect(patched.status).toBe(word === "__proto__" ? 422 : 200);
      const secret = await send(api, "POST", secrets, `{"metadata":{"name":"a"},"stringData":${entry}}`);
      expect(Object.entries(dig(secret.body, "data") as object)).toEqual([[word, "dg=="]]);
      expect((await send(api, "POST", secrets, `{"metadata":{"name":"b"},"type":"${word}"}`)).status).toBe(201);
      expect((await call(api, "GET", `${maps}?fieldSelector=${word}%3Dx`)).status).toBe(400);
      expect((await call(api, "GET", `${maps}?labelSelector=${word}`)).body["items"]).toEqual([]);
      expect((await send(api, "POST", widgets, widget(`{"open":{"${word}":{"${word}":[]}}}`))).status).toBe(201);
      const pruned = await send(api, "PATCH", `${widgets}/a`, `{"spec":{"${word}":1}}`, "application/merge-patch+json");
      expect(Object.keys(dig(pruned.body, "spec") as object)).toEqual(["open"]);
      const applied = widget(`{"open":{"${word}":{"k":1}}}`);
      const path = `${widgets}/a?fieldManager=one&force=true`;
      const after = await send(api, "PATCH", path, applied, "application/apply-patch+yaml");
      expect([after.status, after.text]).toEqual([200, expect.stringContaining(`"${word}":{"${word}":[],"k":1}`)]);
      expect(Object.prototype).not.toHaveProperty("k");
    });
  }
  test("a key __proto__ that comes or goes is a change", async () => {
    const api = await withWidgets();
    await send(api, "POST", widgets, widget(`{"open":{}}`));
    const patch = `[{"op":"add","path":"/spec/open/__proto__","value":{}}]`;
    const after = await send(api, "PATCH", `${widgets}/a`, patch, "application/json-patch+json");
    expect(after.text).toContain(`"open":{"__proto__":{}}`);
  });
});

describe("numbers", () => {
  test("what JSON cannot say again is refused", async () => {
    const api = await withWidgets();
    for (const spec of [
      `{"number":1e999}`,
      `{"open":{"x":[-1e999]}}`,
      `{"port":1e999}`,
      `{"open":${"9".repeat(400)}.5}`,
    ]) {
      expect((await send(api, "POST", widgets, widget(spec))).status).toBe(400);
    }
    for (const value of [".nan", ".inf", "-.inf", "{a: .nan}"]) {
      const yaml = `apiVersion: hostile.test/v1\nkind: Widget\nmetadata: {name: a}\nspec: {number: ${value}}\n`;
      expect((await send(api, "POST", widgets, yaml, "application/yaml")).status).toBe(400);
    }
  });
  test("a number of a million digits is answered", async () => {
    const api = await withWidgets();
    const { status } = await send(api, "POST", widgets, widget(`{"open":{"x":${"9".repeat(1_000_000)}}}`));
    expect([201, 400]).toContain(status);
  });
});

describe("shapes", () => {
  const deep = 200_000;
  const bodies: Readonly<Record<string, readonly [string | Uint8Array, string]>> = {
    "deep JSON": ["[".repeat(deep), "application/json"],
    "deep YAML in brackets behind a quote": [`a: it"s\nb: ${"[".repeat(deep)}`, "application/yaml"],
    "deep YAML by dashes": [`spec: \n  ${"- ".repeat(3000)}x`, "application/yaml"],
    "an anchor that unfolds": [
      `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefgh"
        .split("")
        .map((k, at) => `${k}: &${k} [${Array(9).fill(`*${"abcdefg"[at]}`).join()}]`)
        .join("\n")}`,
      "application/yaml",
    ],
    "no UTF-8": [Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), "application/json"],
    null: ["null", "application/json"],
    "a list": ["[]", "application/json"],
    "metadata that is a list": [`{"metadata":[]}`, "application/json"],
    "a name that is a number": [`{"metadata":{"name":1}}`, "application/json"],
    "labels that are a text": [`{"metadata":{"name":"a","labels":"x"}}`, "application/json"],
    "a label that is null": [`{"metadata":{"name":"a/b","labels":{"x":null}}}`, "application/json"],
    "a very long name": [`{"metadata":{"name":"${"a".repeat(1_000_000)}"}}`, "application/json"],
    "owners that are texts": [`{"metadata":{"name":"a","ownerReferences":["x"]}}`, "application/json"],
    "owners that are null": [`{"metadata":{"name":"a b","ownerReferences":[null]}}`, "application/json"],
    "finalizers that are null": [`{"metadata":{"name":"a b","finalizers":[null]}}`, "application/json"],
    "managed fields of nothing": [
      `{"metadata":{"name":"a b","managedFields":[null,{"fieldsV1":{"k:{":{}}}]}}`,
      "application/json",
    ],
  };
  for (const [name, [body, type]] of Object.entries(bodies)) {
    test(`${name} is refused with a 4xx`, async () => {
      const api = open();
      const answer = await send(api, "POST", maps, body, type);
      expect(answer.status, answer.text.slice(0, 300)).toBeGreaterThanOrEqual(400);
      expect(answer.status, answer.text.slice(0, 300)).toBeLessThan(500);
    });
  }
  const patches: readonly (readonly [string, JsonValue])[] = [
    ["json-patch+json", [null]],
    ["json-patch+json", [{ op: "add", path: "/metadata", value: null }]],
    ["json-patch+json", [{ op: "remove", path: "" }]],
    ["json-patch+json", [{ op: "replace", path: "", value: [] }]],
    ["json-patch+json", [{ op: "move", from: "/metadata", path: "/metadata/labels" }]],
    ["json-patch+json", [{ op: "copy", from: 1, path: "/data" }]],
    ["json-patch+json", [{ op: "add", path: "/metadata/managedFields", value: [null] }]],
    ["json-patch+json", [{ op: "add", path: "/metadata/managedFields", value: [{ fieldsV1: { "k:{": {} } }] }]],
    ["merge-patch+json", null],
    ["merge-patch+json", { metadata: null }],
    ["merge-patch+json", { metadata: { name: { a: 1 } } }],
    ["strategic-merge-patch+json", { metadata: { finalizers: "x" } }],
    ["strategic-merge-patch+json", { metadata: { "$setElementOrder/finalizers": 1, $retainKeys: 1 } }],
    ["strategic-merge-patch+json", { metadata: { ownerReferences: [null, 1, []] } }],
    ["strategic-merge-patch+json", { $patch: "twist" }],
    ["apply-patch+yaml", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", finalizers: [null, {}] } }],
    ["apply-patch+yaml", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", labels: ["x"] } }],
  ];
  for (const [type, patch] of patches) {
    test(`${type} ${JSON.stringify(patch)} makes no internal error`, async () => {
      const api = open();
      await call(api, "POST", maps, map("a"));
      const path = `${maps}/a?${type.startsWith("apply") ? "fieldManager=one" : ""}`;
      const answer = await send(api, "PATCH", path, JSON.stringify(patch), `application/${type}`);
      expect(answer.status, answer.text.slice(0, 300)).toBeLessThan(500);
      const after = await send(
        api,
        "PATCH",
        `${maps}/a?fieldManager=one`,
        JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k: "v" } }),
        "application/apply-patch+yaml",
      );
      expect(after.status, after.text.slice(0, 300)).toBe(200);
    });
  }
});

describe("paths and queries", () => {
  const token = (value: JsonValue) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const paths = [
    `${maps}/..%2F..%2Fsecrets%2Fa`,
    "/api/v1/configmaps/default%2Fa",
    "/api/v1/namespaces/default%2Fx/configmaps/a",
    "/api/v1/namespaces/../../api",
    `${maps}/%00`,
    `${maps}/%E0%A4%A`,
    `${maps}/${"a".repeat(100_000)}`,
    `${maps}?limit=1e3`,
    `${maps}?limit=-1`,
    `${maps}?continue=x`,
    `${maps}?continue=${token(null)}`,
    `${maps}?limit=1&continue=${token({ rv: 1e300, start: "a" })}`,
    `${maps}?continue=${token({ rv: -7, start: "a" })}`,
    `${maps}?resourceVersion=9007199254740993`,
    `${maps}?watch=true&timeoutSeconds=x`,
    `${maps}?labelSelector=a%20in%20(`,
    `${maps}?labelSelector=(((((`,
    `${maps}?labelSelector=a%3E99999999999999999999x`,
    `${maps}?fieldSelector=%3D%3D%3D`,
    "/apis/constructor",
    "/apis/__proto__/v1",
    "/apis/apps/constructor/deployments",
    "/api/v1/namespaces/default/constructor",
    "/openapi/v3/apis/__proto__/v1",
  ];
  for (const path of paths) {
    test(`GET ${path.slice(0, 90)} is refused without an internal error`, async () => {
      const api = open();
      await call(api, "POST", maps, map("a"));
      const response = await api.transport({ method: "GET", path, headers: {} });
      const refused = response.status >= 400 && (response.status < 500 || response.status === 504);
      expect([refused, response.status]).toEqual([true, response.status]);
    });
  }
});
