// Values that are easily mangled on their way through a server: large numbers, nulls, names that JavaScript knows.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets, type Widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap } from "../fixtures.ts";

const raw = (w: Widgets, spec: string) =>
  `{"apiVersion":"${w.group}/v1","kind":"Widget","metadata":{"name":"a"},"spec":${spec}}`;

/** What the server has made of a spec, as text: parsing it here would round what it is about. */
async function stored(fixture: Fixture, spec: string): Promise<string> {
  const w = await widgets(fixture);
  await fixture.api.done(post(w.at(), raw(w, spec)));
  return (await fixture.api.send(get(w.at("a")))).text.replaceAll(/\s/g, "");
}

export const values: Subject = {
  name: "values",
  cases: {
    "a whole number of 64 bits keeps every digit": async (fixture) => {
      const text = await stored(fixture, '{"n":9007199254740993,"m":9223372036854775807,"least":-9223372036854775808}');
      for (const pair of ['"n":9007199254740993', '"m":9223372036854775807', '"least":-9223372036854775808']) {
        expect(text).toContain(pair);
      }
    },
    "a large number survives a patch of something else": async (fixture) => {
      const w = await widgets(fixture);
      await fixture.api.done(post(w.at(), raw(w, '{"n":9007199254740993}')));
      const reply = await fixture.api.send(mergePatch(w.at("a"), { metadata: { labels: { x: "y" } } }));
      expect(reply.text).toContain("9007199254740993");
    },
    "a fraction is kept, and a whole number is written without one": async (fixture) => {
      const text = await stored(fixture, '{"x":0.1,"f":1.0,"e":1e3}');
      for (const pair of ['"x":0.1', '"f":1', '"e":1000']) expect(text).toContain(pair);
    },
    "the keys of a custom resource may be any words": async (fixture) => {
      const text = await stored(fixture, '{"__proto__":{"a":1},"constructor":"c","toString":1,"hasOwnProperty":[]}');
      for (const pair of ['"__proto__":{"a":1}', '"constructor":"c"', '"toString":1', '"hasOwnProperty":[]']) {
        expect(text).toContain(pair);
      }
    },
    "the keys of a configmap may be any words": async (fixture) => {
      await fixture.api.done(
        post(fixture.at("configmaps"), '{"metadata":{"name":"a"},"data":{"__proto__":"v","constructor":"c"}}'),
      );
      const { text } = await fixture.api.send(get(fixture.at("configmaps", "a")));
      expect(text).toMatch(/"__proto__":\s*"v"/);
      expect(text).toMatch(/"constructor":\s*"c"/);
    },
    "a merge patch may set and remove any key": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const set = await fixture.api.send(
        mergePatch(fixture.at("configmaps", "a"), '{"data":{"__proto__":"v","toString":"s"}}'),
      );
      expect(set.text).toMatch(/"__proto__":\s*"v"/);
      const removed = await fixture.api.send(mergePatch(fixture.at("configmaps", "a"), '{"data":{"__proto__":null}}'));
      expect(removed.text).not.toMatch(/"__proto__":\s*"v"/);
      expect(removed.body).toMatchObject({ data: { toString: "s" } });
    },
    "keys that JavaScript knows do not count as absent or present": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { k: "v" }));
      const operations = [
        { op: "test", path: "/data/constructor", value: null },
        { op: "add", path: "/data/valueOf", value: "x" },
      ];
      const headers = { "content-type": "application/json-patch+json" };
      const call = { method: "PATCH", path: fixture.at("configmaps", "a"), headers, body: operations };
      expect((await fixture.api.done(call))["data"]).toEqual({ k: "v", valueOf: "x" });
    },
    "null for a string of a built-in kind is the empty string": async (fixture) => {
      const made = await fixture.make("configmaps", { metadata: { name: "a", labels: null }, data: { k: null } });
      expect(made["data"]).toEqual({ k: "" });
      expect(made.metadata).not.toHaveProperty("labels");
    },
    "null for the spec of a custom resource is no spec": async (fixture) => {
      const w = await widgets(fixture);
      expect(await fixture.api.done(post(w.at(), w.body("a", { spec: null })))).not.toHaveProperty("spec");
    },
    "empty maps, lists and strings of a custom resource are kept": async (fixture) => {
      const w = await widgets(fixture);
      const spec = { map: {}, list: [], text: "", no: false, zero: 0 };
      expect((await fixture.api.done(post(w.at(), w.body("a", { spec }))))["spec"]).toEqual(spec);
    },
    "text outside the basic plane is kept": async (fixture) => {
      const w = await widgets(fixture);
      const spec = { "schlüssel 🔑": "wert 🚢 \u2028 \u0001" };
      await fixture.api.done(post(w.at(), w.body("a", { spec })));
      expect((await fixture.api.done(get(w.at("a"))))["spec"]).toEqual(spec);
    },
    "a body nested 30,000 deep is a bad request, and the server lives": async (fixture) => {
      const w = await widgets(fixture);
      const deep = "[".repeat(30_000) + "]".repeat(30_000);
      await fixture.api.refused(post(w.at(), raw(w, `{"x":${deep}}`)), 400, "BadRequest");
      await fixture.api.done(post(w.at(), w.body("b")));
    },
    "a body nested 200 deep is kept": async (fixture) => {
      const deep = "[".repeat(200) + "]".repeat(200);
      expect(await stored(fixture, `{"x":${deep}}`)).toContain(`"x":${deep}`);
    },
    "a creation time that an update sends is ignored": async (fixture) => {
      const made = await fixture.make("configmaps", configMap("a"));
      const body = configMap("a", { k: "v" }, { creationTimestamp: "2001-01-01T00:00:00Z" });
      const headers = { "content-type": "application/json" };
      const after = await fixture.api.done({ method: "PUT", path: fixture.at("configmaps", "a"), headers, body });
      expect(after.metadata.creationTimestamp).toBe(made.metadata.creationTimestamp);
    },
    "a body of another shape than an object is a bad request": async (fixture) => {
      await fixture.api.refused(post(fixture.at("configmaps"), "[]"), 400, "BadRequest");
      await fixture.api.refused(post(fixture.at("configmaps"), '{"metadata":{"name":"a"}} more'), 400, "BadRequest");
    },
    "a content type may carry a character set": async (fixture) => {
      const headers = { "content-type": "application/json; charset=utf-8" };
      await fixture.api.done({ ...post(fixture.at("configmaps"), configMap("a")), headers });
    },
  },
};
