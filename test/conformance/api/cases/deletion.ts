// Deleting under conditions, with grace, and in the right words.
import { expect } from "vitest";

import { del, get, put } from "../call.ts";
import type { Subject } from "../fixture.ts";
import { configMap, pod } from "../fixtures.ts";

const wrongUid = "11111111-2222-3333-4444-555555555555";

export const deletion: Subject = {
  name: "delete and preconditions",
  cases: {
    "a delete with another uid is a Conflict": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a"));
      const call = del(fixture.at("configmaps", "a"), { preconditions: { uid: wrongUid } });
      const status = await fixture.api.refused(call, 409, "Conflict");
      expect(status.message).toContain(
        `the UID in the precondition (${wrongUid}) does not match the UID in record (${metadata.uid})`,
      );
      expect(await fixture.api.exists(fixture.at("configmaps", "a"))).toBe(true);
    },
    "a delete with an old version is a Conflict": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a"));
      await fixture.api.done(put(fixture.at("configmaps", "a"), configMap("a", { k: "v" })));
      const call = del(fixture.at("configmaps", "a"), { preconditions: { resourceVersion: metadata.resourceVersion } });
      await fixture.api.refused(call, 409, "Conflict");
    },
    "a delete with the right uid and version goes through": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a"));
      const { uid, resourceVersion } = metadata;
      await fixture.api.done(del(fixture.at("configmaps", "a"), { preconditions: { uid, resourceVersion } }));
      expect(await fixture.api.exists(fixture.at("configmaps", "a"))).toBe(false);
    },
    "a delete of what is absent is NotFound": async (fixture) => {
      await fixture.api.refused(del(fixture.at("configmaps", "a")), 404, "NotFound");
    },
    "a delete of what is absent is NotFound with preconditions too": async (fixture) => {
      const call = del(fixture.at("configmaps", "a"), { preconditions: { uid: wrongUid } });
      await fixture.api.refused(call, 404, "NotFound");
    },
    "an unknown propagationPolicy is Invalid": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = del(fixture.at("configmaps", "a"), { propagationPolicy: "Sideways" });
      await fixture.api.refused(call, 422, "Invalid");
    },
    "orphanDependents beside propagationPolicy is Invalid": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = del(fixture.at("configmaps", "a"), { propagationPolicy: "Orphan", orphanDependents: true });
      await fixture.api.refused(call, 422, "Invalid");
    },
    "delete options are taken from the query as well": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = del(fixture.at("configmaps", "a"), undefined, { propagationPolicy: "Sideways" });
      await fixture.api.refused(call, 422, "Invalid");
    },
    "a body that is no DeleteOptions is a bad request": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const call = { ...del(fixture.at("configmaps", "a"), {}), body: "{" };
      await fixture.api.refused(call, 400, "BadRequest");
    },
    "a pod without a node goes at once": async (fixture) => {
      await fixture.make("pods", pod("a"));
      await fixture.api.done(del(fixture.at("pods", "a"), { gracePeriodSeconds: 30 }));
      expect(await fixture.api.exists(fixture.at("pods", "a"))).toBe(false);
    },
    "a pod on a node stays until its time is up": async (fixture) => {
      await fixture.make("pods", pod("a", { nodeName: "node-1", terminationGracePeriodSeconds: 25 }));
      const answer = await fixture.api.done(del(fixture.at("pods", "a")));
      expect(answer.metadata).toMatchObject({ deletionGracePeriodSeconds: 25, deletionTimestamp: expect.any(String) });
      const seen = await fixture.api.done(get(fixture.at("pods", "a")));
      const { creationTimestamp, deletionTimestamp = "" } = seen.metadata;
      expect(Date.parse(deletionTimestamp)).toBeGreaterThanOrEqual(Date.parse(creationTimestamp) + 25_000);
      await fixture.api.done(del(fixture.at("pods", "a"), { gracePeriodSeconds: 0 }));
      expect(await fixture.api.exists(fixture.at("pods", "a"))).toBe(false);
    },
    "the grace of a pod can be shortened, not lengthened": async (fixture) => {
      await fixture.make("pods", pod("a", { nodeName: "node-1" }));
      const grace = async (seconds: number) => {
        const answer = await fixture.api.done(del(fixture.at("pods", "a"), { gracePeriodSeconds: seconds }));
        return answer.metadata.deletionGracePeriodSeconds;
      };
      expect([await grace(20), await grace(10), await grace(30)]).toEqual([20, 10, 10]);
      await grace(0);
    },
    "a configmap knows no grace": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      await fixture.api.done(del(fixture.at("configmaps", "a"), { gracePeriodSeconds: 30 }));
      expect(await fixture.api.exists(fixture.at("configmaps", "a"))).toBe(false);
    },
    "a collection is deleted with options as well": async (fixture) => {
      await fixture.make("pods", pod("a", { nodeName: "node-1" }));
      await fixture.api.done(del(fixture.at("pods"), { gracePeriodSeconds: 0 }));
      expect(await fixture.api.exists(fixture.at("pods", "a"))).toBe(false);
    },
  },
};
