// How large a request may be.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import { configMap, secret } from "../fixtures.ts";
import type { Subject } from "../world.ts";

const mebibyte = 1024 * 1024;

export const limits: Subject = {
  name: "limits",
  cases: {
    "a body of more than 3 MiB is RequestEntityTooLarge": async (world) => {
      const body = configMap("a", { k: "v".repeat(3 * mebibyte) });
      const status = await world.api.refused(post(world.at("configmaps"), body), 413, "RequestEntityTooLarge");
      expect(status.message).toContain("limit is 3145728");
    },
    "a patch of more than 3 MiB is RequestEntityTooLarge": async (world) => {
      await world.make("configmaps", configMap("a"));
      const call = mergePatch(world.at("configmaps", "a"), { data: { k: "v".repeat(3 * mebibyte) } });
      await world.api.refused(call, 413, "RequestEntityTooLarge");
    },
    "an object of more than 1.5 MiB is not stored": async (world) => {
      const w = await widgets(world);
      const reply = await world.api.send(post(w.at(), w.body("a", { spec: { k: "v".repeat(1.75 * mebibyte) } })));
      expect(reply.status).toBe(500);
      expect(reply.body).toMatchObject({ kind: "Status", message: "etcdserver: request is too large" });
      expect(await world.api.exists(w.at("a"))).toBe(false);
    },
    "an object of 1 MiB is stored": async (world) => {
      const w = await widgets(world);
      const spec = { k: "v".repeat(mebibyte) };
      await world.api.done(post(w.at(), w.body("a", { spec })));
      expect((await world.api.done(get(w.at("a"))))["spec"]).toEqual(spec);
    },
    "a secret holds at most 1 MiB": async (world) => {
      const data = { k: Buffer.alloc(mebibyte + 1).toString("base64") };
      const status = await world.api.refused(post(world.at("secrets"), secret("a", { data })), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ reason: "FieldValueTooLong", field: "data" });
    },
  },
};
