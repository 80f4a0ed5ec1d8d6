// Values that are easily mangled on their way through a server: large numbers, nulls, names that JavaScript knows.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets, type Widgets } from "../crd.ts";
import { configMap } from "../fixtures.ts";
import type { Subject, World } from "../world.ts";

const raw = (w: Widgets, spec: string) =>
  `{"apiVersion":"${w.group}/v1","kind":"Widget","metadata":{"name":"a"},"spec":${spec}}`;

/** What the server has made of a spec, as text: parsing it here would round what it is about. */
async function stored(world: World, spec: string): Promise<string> {
  const w = await widgets(world);
  await world.api.done(post(w.at(), raw(w, spec)));
  return (await world.api.send(get(w.at("a")))).text.replaceAll(/\s/g, "");
}

export const values: Subject = {
  name: "values",
  cases: {
    "a whole number of 64 bits keeps every digit": async (world) => {
      const text = await stored(world, '{"n":9007199254740993,"m":9223372036854775807,"least":-9223372036854775808}');
      for (const pair of ['"n":9007199254740993', '"m":9223372036854775807', '"least":-9223372036854775808']) {
        expect(text).toContain(pair);
      }
    },
    "a large number survives a patch of something else": async (world) => {
      const w = await widgets(world);
      await world.api.done(post(w.at(), raw(w, '{"n":9007199254740993}')));
      const reply = await world.api.send(mergePatch(w.at("a"), { metadata: { labels: { x: "y" } } }));
      expect(reply.text).toContain("9007199254740993");
    },
    "a fraction is kept, and a whole number is written without one": async (world) => {
      const text = await stored(world, '{"x":0.1,"f":1.0,"e":1e3}');
      for (const pair of ['"x":0.1', '"f":1', '"e":1000']) expect(text).toContain(pair);
    },
    "the keys of a custom resource may be any words": async (world) => {
      const text = await stored(world, '{"__proto__":{"a":1},"constructor":"c","toString":1,"hasOwnProperty":[]}');
      for (const pair of ['"__proto__":{"a":1}', '"constructor":"c"', '"toString":1', '"hasOwnProperty":[]']) {
        expect(text).toContain(pair);
      }
    },
    "the keys of a configmap may be any words": async (world) => {
      await world.api.done(
        post(world.at("configmaps"), '{"metadata":{"name":"a"},"data":{"__proto__":"v","constructor":"c"}}'),
      );
      const { text } = await world.api.send(get(world.at("configmaps", "a")));
      expect(text).toMatch(/"__proto__":\s*"v"/);
      expect(text).toMatch(/"constructor":\s*"c"/);
    },
    "a merge patch may set and remove any key": async (world) => {
      await world.make("configmaps", configMap("a"));
      const set = await world.api.send(
        mergePatch(world.at("configmaps", "a"), '{"data":{"__proto__":"v","toString":"s"}}'),
      );
      expect(set.text).toMatch(/"__proto__":\s*"v"/);
      const removed = await world.api.send(mergePatch(world.at("configmaps", "a"), '{"data":{"__proto__":null}}'));
      expect(removed.text).not.toMatch(/"__proto__":\s*"v"/);
      expect(removed.body).toMatchObject({ data: { toString: "s" } });
    },
    "keys that JavaScript knows do not count as absent or present": async (world) => {
      await world.make("configmaps", configMap("a", { k: "v" }));
      const operations = [
        { op: "test", path: "/data/constructor", value: null },
        { op: "add", path: "/data/valueOf", value: "x" },
      ];
      const headers = { "content-type": "application/json-patch+json" };
      const call = { method: "PATCH", path: world.at("configmaps", "a"), headers, body: operations };
      expect((await world.api.done(call))["data"]).toEqual({ k: "v", valueOf: "x" });
    },
    "null for a string of a built-in kind is the empty string": async (world) => {
      const made = await world.make("configmaps", { metadata: { name: "a", labels: null }, data: { k: null } });
      expect(made["data"]).toEqual({ k: "" });
      expect(made.metadata).not.toHaveProperty("labels");
    },
    "null for the spec of a custom resource is no spec": async (world) => {
      const w = await widgets(world);
      expect(await world.api.done(post(w.at(), w.body("a", { spec: null })))).not.toHaveProperty("spec");
    },
    "empty maps, lists and strings of a custom resource are kept": async (world) => {
      const w = await widgets(world);
      const spec = { map: {}, list: [], text: "", no: false, zero: 0 };
      expect((await world.api.done(post(w.at(), w.body("a", { spec }))))["spec"]).toEqual(spec);
    },
    "text outside the basic plane is kept": async (world) => {
      const w = await widgets(world);
      const spec = { "schlüssel 🔑": "wert 🚢 \u2028 \u0001" };
      await world.api.done(post(w.at(), w.body("a", { spec })));
      expect((await world.api.done(get(w.at("a"))))["spec"]).toEqual(spec);
    },
    "a body nested 30,000 deep is a bad request, and the server lives": async (world) => {
      const w = await widgets(world);
      const deep = "[".repeat(30_000) + "]".repeat(30_000);
      await world.api.refused(post(w.at(), raw(w, `{"x":${deep}}`)), 400, "BadRequest");
      await world.api.done(post(w.at(), w.body("b")));
    },
    "a body nested 200 deep is kept": async (world) => {
      const deep = "[".repeat(200) + "]".repeat(200);
      expect(await stored(world, `{"x":${deep}}`)).toContain(`"x":${deep}`);
    },
    "a creation time that an update sends is ignored": async (world) => {
      const made = await world.make("configmaps", configMap("a"));
      const body = configMap("a", { k: "v" }, { creationTimestamp: "2001-01-01T00:00:00Z" });
      const headers = { "content-type": "application/json" };
      const after = await world.api.done({ method: "PUT", path: world.at("configmaps", "a"), headers, body });
      expect(after.metadata.creationTimestamp).toBe(made.metadata.creationTimestamp);
    },
    "a body of another shape than an object is a bad request": async (world) => {
      await world.api.refused(post(world.at("configmaps"), "[]"), 400, "BadRequest");
      await world.api.refused(post(world.at("configmaps"), '{"metadata":{"name":"a"}} more'), 400, "BadRequest");
    },
    "a content type may carry a character set": async (world) => {
      const headers = { "content-type": "application/json; charset=utf-8" };
      await world.api.done({ ...post(world.at("configmaps"), configMap("a")), headers });
    },
  },
};
