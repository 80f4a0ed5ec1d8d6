// Leases, on which leaders are elected.
import { expect } from "vitest";

import { mergePatch, post, put } from "../call.ts";
import type { Subject } from "../fixture.ts";
import { lease } from "../fixtures.ts";

const held = { holderIdentity: "one", leaseDurationSeconds: 15, leaseTransitions: 0 };

export const leases: Subject = {
  name: "leases",
  cases: {
    "a lease keeps its times to the microsecond": async (fixture) => {
      const times = { acquireTime: "2026-01-02T03:04:05.123456Z", renewTime: "2026-01-02T03:04:06.000000Z" };
      const made = await fixture.make("leases", lease("a", { ...held, ...times }));
      expect(made["spec"]).toEqual({ ...held, ...times });
    },
    "a time without microseconds is a bad request": async (fixture) => {
      const call = post(fixture.at("leases"), lease("a", { ...held, renewTime: "2026-01-02T03:04:05Z" }));
      await fixture.api.refused(call, 400, "BadRequest");
    },
    "of two who take a lease over, one wins": async (fixture) => {
      const seen = await fixture.make("leases", lease("a", held));
      const take = (holderIdentity: string) =>
        put(fixture.at("leases", "a"), { ...seen, spec: { ...held, holderIdentity, leaseTransitions: 1 } });
      const replies = await Promise.all([fixture.api.send(take("two")), fixture.api.send(take("three"))]);
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 409]));
    },
    "a lease is released by an update": async (fixture) => {
      const seen = await fixture.make("leases", lease("a", held));
      const spec = { ...held, holderIdentity: "", leaseDurationSeconds: 1 };
      const released = await fixture.api.done(put(fixture.at("leases", "a"), { ...seen, spec }));
      expect(released["spec"]).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
    },
    "a lease has no status subresource": async (fixture) => {
      await fixture.make("leases", lease("a"));
      const reply = await fixture.api.send(mergePatch(fixture.at("leases", "a", "status"), { status: {} }));
      expect(reply.status).toBe(404);
    },
    "a duration that is not positive is Invalid": async (fixture) => {
      const call = post(fixture.at("leases"), lease("a", { ...held, leaseDurationSeconds: 0 }));
      const status = await fixture.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "spec.leaseDurationSeconds" });
    },
    "a time that is none is a bad request": async (fixture) => {
      await fixture.api.refused(
        post(fixture.at("leases"), lease("a", { ...held, renewTime: "noon" })),
        400,
        "BadRequest",
      );
    },
  },
};
