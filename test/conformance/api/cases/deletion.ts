// Deleting under conditions, with grace, and in the right words.
import { expect } from "vitest";

import { del, get, put } from "../call.ts";
import { configMap, pod } from "../fixtures.ts";
import type { Subject } from "../world.ts";

const wrongUid = "11111111-2222-3333-4444-555555555555";

export const deletion: Subject = {
  name: "delete and preconditions",
  cases: {
    "a delete with another uid is a Conflict": async (world) => {
      const { metadata } = await world.make("configmaps", configMap("a"));
      const call = del(world.at("configmaps", "a"), { preconditions: { uid: wrongUid } });
      const status = await world.api.refused(call, 409, "Conflict");
      expect(status.message).toContain(
        `the UID in the precondition (${wrongUid}) does not match the UID in record (${metadata.uid})`,
      );
      expect(await world.api.exists(world.at("configmaps", "a"))).toBe(true);
    },
    "a delete with an old version is a Conflict": async (world) => {
      const { metadata } = await world.make("configmaps", configMap("a"));
      await world.api.done(put(world.at("configmaps", "a"), configMap("a", { k: "v" })));
      const call = del(world.at("configmaps", "a"), { preconditions: { resourceVersion: metadata.resourceVersion } });
      await world.api.refused(call, 409, "Conflict");
    },
    "a delete with the right uid and version goes through": async (world) => {
      const { metadata } = await world.make("configmaps", configMap("a"));
      const { uid, resourceVersion } = metadata;
      await world.api.done(del(world.at("configmaps", "a"), { preconditions: { uid, resourceVersion } }));
      expect(await world.api.exists(world.at("configmaps", "a"))).toBe(false);
    },
    "a delete of what is absent is NotFound": async (world) => {
      await world.api.refused(del(world.at("configmaps", "a")), 404, "NotFound");
    },
    "a delete of what is absent is NotFound with preconditions too": async (world) => {
      const call = del(world.at("configmaps", "a"), { preconditions: { uid: wrongUid } });
      await world.api.refused(call, 404, "NotFound");
    },
    "an unknown propagationPolicy is Invalid": async (world) => {
      await world.make("configmaps", configMap("a"));
      const call = del(world.at("configmaps", "a"), { propagationPolicy: "Sideways" });
      await world.api.refused(call, 422, "Invalid");
    },
    "orphanDependents beside propagationPolicy is Invalid": async (world) => {
      await world.make("configmaps", configMap("a"));
      const call = del(world.at("configmaps", "a"), { propagationPolicy: "Orphan", orphanDependents: true });
      await world.api.refused(call, 422, "Invalid");
    },
    "delete options are taken from the query as well": async (world) => {
      await world.make("configmaps", configMap("a"));
      const call = del(world.at("configmaps", "a"), undefined, { propagationPolicy: "Sideways" });
      await world.api.refused(call, 422, "Invalid");
    },
    "a body that is no DeleteOptions is a bad request": async (world) => {
      await world.make("configmaps", configMap("a"));
      const call = { ...del(world.at("configmaps", "a"), {}), body: "{" };
      await world.api.refused(call, 400, "BadRequest");
    },
    "a pod without a node goes at once": async (world) => {
      await world.make("pods", pod("a"));
      await world.api.done(del(world.at("pods", "a"), { gracePeriodSeconds: 30 }));
      expect(await world.api.exists(world.at("pods", "a"))).toBe(false);
    },
    "a pod on a node stays until its time is up": async (world) => {
      await world.make("pods", pod("a", { nodeName: "node-1", terminationGracePeriodSeconds: 25 }));
      const answer = await world.api.done(del(world.at("pods", "a")));
      expect(answer.metadata).toMatchObject({ deletionGracePeriodSeconds: 25, deletionTimestamp: expect.any(String) });
      const seen = await world.api.done(get(world.at("pods", "a")));
      const { creationTimestamp, deletionTimestamp = "" } = seen.metadata;
      expect(Date.parse(deletionTimestamp)).toBeGreaterThanOrEqual(Date.parse(creationTimestamp) + 25_000);
      await world.api.done(del(world.at("pods", "a"), { gracePeriodSeconds: 0 }));
      expect(await world.api.exists(world.at("pods", "a"))).toBe(false);
    },
    "the grace of a pod can be shortened, not lengthened": async (world) => {
      await world.make("pods", pod("a", { nodeName: "node-1" }));
      const grace = async (seconds: number) => {
        const answer = await world.api.done(del(world.at("pods", "a"), { gracePeriodSeconds: seconds }));
        return answer.metadata.deletionGracePeriodSeconds;
      };
      expect([await grace(20), await grace(10), await grace(30)]).toEqual([20, 10, 10]);
      await grace(0);
    },
    "a configmap knows no grace": async (world) => {
      await world.make("configmaps", configMap("a"));
      await world.api.done(del(world.at("configmaps", "a"), { gracePeriodSeconds: 30 }));
      expect(await world.api.exists(world.at("configmaps", "a"))).toBe(false);
    },
    "a collection is deleted with options as well": async (world) => {
      await world.make("pods", pod("a", { nodeName: "node-1" }));
      await world.api.done(del(world.at("pods"), { gracePeriodSeconds: 0 }));
      expect(await world.api.exists(world.at("pods", "a"))).toBe(false);
    },
  },
};
