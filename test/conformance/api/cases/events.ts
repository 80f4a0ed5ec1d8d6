// Events, which are one kind in two groups.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { event } from "../fixtures.ts";
import { names } from "../object.ts";

const newer = (fixture: Fixture, ...rest: readonly string[]) =>
  ["/apis/events.k8s.io/v1/namespaces", fixture.namespace, "events", ...rest].join("/");

const body = (fixture: Fixture, name: string) => ({
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
  regarding: { kind: "Pod", namespace: fixture.namespace, name: "someone" },
});

export const events: Subject = {
  name: "events",
  cases: {
    "a core event is made and read": async (fixture) => {
      const made = await fixture.make("events", event(fixture, "a", { count: 2 }));
      expect(made).toMatchObject({ kind: "Event", apiVersion: "v1", reason: "Tested", count: 2, type: "Normal" });
    },
    "an event of events.k8s.io is made and read": async (fixture) => {
      const made = await fixture.api.done(post(newer(fixture), body(fixture, "a")));
      expect(made).toMatchObject({
        apiVersion: "events.k8s.io/v1",
        note: "A case was here.",
        regarding: { name: "someone" },
      });
    },
    "an event of one group is seen in the other": async (fixture) => {
      await fixture.make("events", event(fixture, "core"));
      expect(await fixture.api.done(get(newer(fixture, "core")))).toMatchObject({
        note: "A case was here.",
        regarding: { kind: "Pod", name: "someone" },
      });
      await fixture.api.done(post(newer(fixture), body(fixture, "new")));
      expect(await fixture.api.done(get(fixture.at("events", "new")))).toMatchObject({
        message: "A case was here.",
        involvedObject: { kind: "Pod", name: "someone" },
        reportingComponent: "holdfast.test/conformance",
      });
      expect(names(await fixture.api.list(fixture.at("events")))).toEqual(["core", "new"]);
    },
    "a core event's count is raised by a patch": async (fixture) => {
      await fixture.make("events", event(fixture, "a", { count: 1 }));
      const after = await fixture.api.done(
        mergePatch(fixture.at("events", "a"), { count: 2, lastTimestamp: "2026-01-02T03:04:05Z" }),
      );
      expect(after).toMatchObject({ count: 2, lastTimestamp: "2026-01-02T03:04:05Z" });
    },
    "an event is about an object of its namespace": async (fixture) => {
      const involvedObject = { kind: "Pod", namespace: "elsewhere", name: "someone" };
      const call = post(fixture.at("events"), event(fixture, "a", { involvedObject }));
      const status = await fixture.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "involvedObject.namespace" });
    },
    "an event of events.k8s.io needs its reporter": async (fixture) => {
      const { reportingController: _none, ...rest } = body(fixture, "a");
      const status = await fixture.api.refused(post(newer(fixture), rest), 422, "Invalid");
      expect(status.details?.causes?.map(({ field }) => field)).toContain("reportingController");
    },
    "events are selected by reason": async (fixture) => {
      await fixture.make("events", event(fixture, "a"));
      await fixture.make("events", event(fixture, "b", { reason: "Other" }));
      expect(names(await fixture.api.list(fixture.at("events"), { fieldSelector: "reason=Other" }))).toEqual(["b"]);
    },
    "events are watched": async (fixture) => {
      const { metadata } = await fixture.api.list(fixture.at("events"));
      await using watch = await fixture.api.watch(fixture.at("events"), { resourceVersion: metadata.resourceVersion });
      await fixture.make("events", event(fixture, "a"));
      expect(await watch.event()).toMatchObject({ type: "ADDED", object: { kind: "Event", reason: "Tested" } });
    },
  },
};
