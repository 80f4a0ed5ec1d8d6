// How large a request may be.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject } from "../fixture.ts";
import { configMap, secret } from "../fixtures.ts";

const mebibyte = 1024 * 1024;

export const limits: Subject = {
  name: "limits",
  cases: {
    "a body of more than 3 MiB is RequestEntityTooLarge": async (fixture) => {
      const body = configMap("a", { k: "v".repeat(3 * mebibyte) });
      const status = await fixture.api.refused(post(fixture.at("configmaps"), body), 413, "RequestEntityTooLarge");
      expect(status.message).toContain("limit is 3145728");
    },
    "a patch of more than 3 MiB is RequestEntityTooLarge": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = mergePatch(fixture.at("configmaps", "a"), { data: { k: "v".repeat(3 * mebibyte) } });
      await fixture.api.refused(call, 413, "RequestEntityTooLarge");
    },
    "an object of more than 1.5 MiB is not stored": async (fixture) => {
      const w = await widgets(fixture);
      const reply = await fixture.api.send(post(w.at(), w.body("a", { spec: { k: "v".repeat(1.75 * mebibyte) } })));
      expect(reply.status).toBe(500);
      expect(reply.body).toMatchObject({ kind: "Status", message: "etcdserver: request is too large" });
      expect(await fixture.api.exists(w.at("a"))).toBe(false);
    },
    "an object of 1 MiB is stored": async (fixture) => {
      const w = await widgets(fixture);
      const spec = { k: "v".repeat(mebibyte) };
      await fixture.api.done(post(w.at(), w.body("a", { spec })));
      expect((await fixture.api.done(get(w.at("a"))))["spec"]).toEqual(spec);
    },
    "a secret holds at most 1 MiB": async (fixture) => {
      const data = { k: Buffer.alloc(mebibyte + 1).toString("base64") };
      const status = await fixture.api.refused(post(fixture.at("secrets"), secret("a", { data })), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ reason: "FieldValueTooLong", field: "data" });
    },
  },
};
