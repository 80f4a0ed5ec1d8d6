// Events, which are one kind in two groups.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { event } from "../fixtures.ts";
import { names } from "../object.ts";
import type { Subject, World } from "../world.ts";

const newer = (world: World, ...rest: readonly string[]) =>
  ["/apis/events.k8s.io/v1/namespaces", world.namespace, "events", ...rest].join("/");

const body = (world: World, name: string) => ({
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name },
  eventTime: "2026-01-02T03:04:05.123456Z",
  reportingController: "holdfast.test/conformance",
  reportingInstance: "here",
  action: "Testing",
  reason: "Tested",
  note: "A case was here.",
  type: "Normal",
  regarding: { kind: "Pod", namespace: world.namespace, name: "someone" },
});

export const events: Subject = {
  name: "events",
  cases: {
    "a core event is made and read": async (world) => {
      const made = await world.make("events", event(world, "a", { count: 2 }));
      expect(made).toMatchObject({ kind: "Event", apiVersion: "v1", reason: "Tested", count: 2, type: "Normal" });
    },
    "an event of events.k8s.io is made and read": async (world) => {
      const made = await world.api.done(post(newer(world), body(world, "a")));
      expect(made).toMatchObject({
        apiVersion: "events.k8s.io/v1",
        note: "A case was here.",
        regarding: { name: "someone" },
      });
    },
    "an event of one group is seen in the other": async (world) => {
      await world.make("events", event(world, "core"));
      expect(await world.api.done(get(newer(world, "core")))).toMatchObject({
        note: "A case was here.",
        regarding: { kind: "Pod", name: "someone" },
      });
      await world.api.done(post(newer(world), body(world, "new")));
      expect(await world.api.done(get(world.at("events", "new")))).toMatchObject({
        message: "A case was here.",
        involvedObject: { kind: "Pod", name: "someone" },
        reportingComponent: "holdfast.test/conformance",
      });
      expect(names(await world.api.list(world.at("events")))).toEqual(["core", "new"]);
    },
    "a core event's count is raised by a patch": async (world) => {
      await world.make("events", event(world, "a", { count: 1 }));
      const after = await world.api.done(
        mergePatch(world.at("events", "a"), { count: 2, lastTimestamp: "2026-01-02T03:04:05Z" }),
      );
      expect(after).toMatchObject({ count: 2, lastTimestamp: "2026-01-02T03:04:05Z" });
    },
    "an event is about an object of its namespace": async (world) => {
      const involvedObject = { kind: "Pod", namespace: "elsewhere", name: "someone" };
      const call = post(world.at("events"), event(world, "a", { involvedObject }));
      const status = await world.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "involvedObject.namespace" });
    },
    "an event of events.k8s.io needs its reporter": async (world) => {
      const { reportingController: _none, ...rest } = body(world, "a");
      const status = await world.api.refused(post(newer(world), rest), 422, "Invalid");
      expect(status.details?.causes?.map(({ field }) => field)).toContain("reportingController");
    },
    "events are selected by reason": async (world) => {
      await world.make("events", event(world, "a"));
      await world.make("events", event(world, "b", { reason: "Other" }));
      expect(names(await world.api.list(world.at("events"), { fieldSelector: "reason=Other" }))).toEqual(["b"]);
    },
    "events are watched": async (world) => {
      const { metadata } = await world.api.list(world.at("events"));
      await using watch = await world.api.watch(world.at("events"), { resourceVersion: metadata.resourceVersion });
      await world.make("events", event(world, "a"));
      expect(await watch.event()).toMatchObject({ type: "ADDED", object: { kind: "Event", reason: "Tested" } });
    },
  },
};
