// Bookmarks, and lists that are sent as the beginning of a watch.
import { expect } from "vitest";

import { get, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, makeConfigMaps } from "../fixtures.ts";
import type { WatchEvent } from "../watch.ts";

const initialEnd = "k8s.io/initial-events-end";
const isInitialEnd = ({ type, object }: WatchEvent) =>
  type === "BOOKMARK" && object.metadata.annotations?.[initialEnd] === "true";
const watchList = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: true };

/** A server sends a bookmark about 2 s before a watch times out, if it gets to it: so a few watches may be needed. */
async function firstBookmark(fixture: Fixture, resourceVersion: string): Promise<WatchEvent> {
  for (let attempt = 0; attempt < 8; attempt++) {
    const query = { resourceVersion, allowWatchBookmarks: true, timeoutSeconds: 4 };
    await using watch = await fixture.api.watch(fixture.at("configmaps"), query);
    const bookmark = (await watch.rest()).find(({ type }) => type === "BOOKMARK");
    if (bookmark !== undefined) return bookmark;
  }
  throw new Error("Eight watches of 4 s each ended without a bookmark.");
}

export const bookmarks: Subject = {
  name: "bookmarks and watch-lists",
  cases: {
    "a watch that allows bookmarks gets one, with a kind and a version and nothing else": async (fixture) => {
      await fixture.make("configmaps", configMap("a"));
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      const { object } = await firstBookmark(fixture, metadata.resourceVersion);
      expect(object).toEqual({
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { resourceVersion: expect.stringMatching(/^[1-9]\d*$/) },
      });
      expect(BigInt(object.metadata.resourceVersion)).toBeGreaterThanOrEqual(BigInt(metadata.resourceVersion));
    },
    "a watch that does not allow bookmarks gets none": async (fixture) => {
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      const query = { resourceVersion: metadata.resourceVersion, timeoutSeconds: 4 };
      await using watch = await fixture.api.watch(fixture.at("configmaps"), query);
      await fixture.make("configmaps", configMap("a"));
      expect((await watch.rest()).map(({ type }) => type)).toEqual(["ADDED"]);
    },
    "a watch continues from a bookmark": async (fixture) => {
      await makeConfigMaps(fixture, 2);
      await using list = await fixture.api.watch(fixture.at("configmaps"), watchList);
      let bookmark: WatchEvent | undefined;
      do bookmark = await list.next();
      while (bookmark !== undefined && bookmark.type !== "BOOKMARK");
      const { resourceVersion = "" } = bookmark?.object.metadata ?? {};
      await using watch = await fixture.api.watch(fixture.at("configmaps"), { resourceVersion });
      await fixture.make("configmaps", configMap("later"));
      expect((await watch.event()).object.metadata.name).toBe("later");
    },
    "sendInitialEvents sends what is there, a bookmark that says so, and then what changes": async (fixture) => {
      await makeConfigMaps(fixture, 3);
      await using watch = await fixture.api.watch(fixture.at("configmaps"), watchList);
      const events: WatchEvent[] = [];
      for (let event = await watch.next(); event !== undefined; event = await watch.next()) {
        events.push(event);
        if (isInitialEnd(event)) break;
      }
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "ADDED", "ADDED", "BOOKMARK"]);
      await fixture.make("configmaps", configMap("later"));
      expect((await watch.event()).object.metadata.name).toBe("later");
    },
    "sendInitialEvents of nothing is the bookmark alone": async (fixture) => {
      await using watch = await fixture.api.watch(fixture.at("leases"), watchList);
      const event = await watch.next();
      expect(event !== undefined && isInitialEnd(event)).toBe(true);
    },
    "the bookmark after the initial events is at least the version that was asked for": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a"));
      const query = { ...watchList, resourceVersion: metadata.resourceVersion };
      await using watch = await fixture.api.watch(fixture.at("configmaps"), query);
      let event = await watch.next();
      while (event !== undefined && !isInitialEnd(event)) event = await watch.next();
      const version = BigInt(event?.object.metadata.resourceVersion ?? 0);
      expect(version).toBeGreaterThanOrEqual(BigInt(metadata.resourceVersion));
    },
    "sendInitialEvents without resourceVersionMatch is Invalid": async (fixture) => {
      const query = { watch: true, sendInitialEvents: true, allowWatchBookmarks: true };
      const status = await fixture.api.refused(get(fixture.at("configmaps"), query), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "resourceVersionMatch" });
    },
    "resourceVersionMatch on a watch without sendInitialEvents is Invalid": async (fixture) => {
      const query = { watch: true, resourceVersion: 1, resourceVersionMatch: "NotOlderThan" };
      await fixture.api.refused(get(fixture.at("configmaps"), query), 422, "Invalid");
    },
    "custom resources are sent as a watch-list, by label": async (fixture) => {
      const w = await widgets(fixture);
      for (const app of ["web", "db"]) await fixture.api.done(post(w.at(), w.body(app, {}, { labels: { app } })));
      await using watch = await fixture.api.watch(w.at(), { ...watchList, labelSelector: "app=web" });
      const [first, second] = [await watch.next(), await watch.next()];
      expect(first).toMatchObject({ type: "ADDED", object: { metadata: { name: "web" } } });
      expect(second !== undefined && isInitialEnd(second)).toBe(true);
    },
  },
};
