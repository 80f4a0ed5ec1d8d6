// Warnings: said in a header, beside an answer that is none the worse.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject } from "../fixture.ts";
import { configMap } from "../fixtures.ts";
import { until } from "../until.ts";

export const warnings: Subject = {
  name: "warnings",
  cases: {
    "an ordinary request is answered without a warning": async (fixture) => {
      const reply = await fixture.api.send(post(fixture.at("configmaps"), configMap("a")));
      expect(reply.headers["warning"]).toBeUndefined();
    },
    "a field that a custom resource does not know is warned of": async (fixture) => {
      const w = await widgets(fixture, { spec: { type: "object", properties: { known: { type: "string" } } } });
      const reply = await fixture.api.send(post(w.at(), w.body("a", { spec: { known: "v", unknown: 1 } })));
      expect(reply.status).toBe(201);
      expect(reply.headers["warning"]).toBe('299 - "unknown field \\"spec.unknown\\""');
    },
    "a patch that adds an unknown field is warned of": async (fixture) => {
      const w = await widgets(fixture, { spec: { type: "object", properties: { known: { type: "string" } } } });
      await fixture.api.done(post(w.at(), w.body("a")));
      const reply = await fixture.api.send(mergePatch(w.at("a"), { spec: { unknown: 1 } }));
      expect(reply.headers["warning"]).toContain("spec.unknown");
    },
    "a deprecated version of a custom resource is warned of": async (fixture) => {
      const w = await widgets(fixture);
      const headers = { "content-type": "application/json-patch+json" };
      const body = [{ op: "add", path: "/spec/versions/0/deprecated", value: true }];
      await fixture.api.done({ method: "PATCH", path: w.definitionPath, headers, body });
      const warning = await until(
        "the deprecation is warned of",
        async () => (await fixture.api.send(get(w.at()))).headers["warning"],
      );
      expect(warning).toBe(`299 - "${w.group}/v1 Widget is deprecated"`);
    },
    "a deprecation is warned of in the definition's words": async (fixture) => {
      const w = await widgets(fixture);
      const headers = { "content-type": "application/json-patch+json" };
      const body = [
        { op: "add", path: "/spec/versions/0/deprecated", value: true },
        { op: "add", path: "/spec/versions/0/deprecationWarning", value: "use gadgets" },
      ];
      await fixture.api.done({ method: "PATCH", path: w.definitionPath, headers, body });
      const warning = await until(
        "the deprecation is warned of",
        async () => (await fixture.api.send(get(w.at()))).headers["warning"],
      );
      expect(warning).toBe('299 - "use gadgets"');
    },
  },
};
