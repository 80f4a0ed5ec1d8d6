// What a server answers when it is asked for a version that it has forgotten.
import { expect } from "vitest";

import { get } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, makeConfigMaps } from "../fixtures.ts";
import { until } from "../until.ts";

/** Makes the versions so far forgotten. The write afterwards lets the server notice that time has passed. */
async function forget(fixture: Fixture): Promise<void> {
  await fixture.make("configmaps", configMap("before"));
  await fixture.compact();
  await fixture.make("configmaps", configMap("after"));
}

export const gone: Subject = {
  name: "410 Gone",
  alone: true,
  cases: {
    "a watch from a forgotten version is an ERROR event of code 410": async (fixture) => {
      // Of a new kind, because a server may remember the whole short life of the built-in ones.
      const w = await widgets(fixture);
      await forget(fixture);
      await using watch = await fixture.api.watch(w.at(), { resourceVersion: 1 });
      const status = await watch.error();
      expect(status).toMatchObject({ kind: "Status", status: "Failure", code: 410, reason: "Expired" });
      expect(status.message).toContain("too old resource version");
    },
    "after a 410 a new list and a watch from its version work": async (fixture) => {
      await forget(fixture);
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      await using watch = await fixture.api.watch(fixture.at("configmaps"), {
        resourceVersion: metadata.resourceVersion,
      });
      await fixture.make("configmaps", configMap("later"));
      expect(await watch.event()).toMatchObject({ type: "ADDED", object: { metadata: { name: "later" } } });
    },
    "a list of exactly a forgotten version is 410 Expired": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a"));
      await forget(fixture);
      const query = { resourceVersion: metadata.resourceVersion, resourceVersionMatch: "Exact" };
      await until(
        "the version is forgotten",
        async () => (await fixture.api.send(get(fixture.at("configmaps"), query))).status === 410,
      );
      await fixture.api.refused(get(fixture.at("configmaps"), query), 410, "Expired");
    },
    "a continue token of a forgotten version is 410 Expired, with a token to go on": async (fixture) => {
      await makeConfigMaps(fixture, 4);
      const first = await fixture.api.list(fixture.at("configmaps"), { limit: 2 });
      await forget(fixture);
      const next = get(fixture.at("configmaps"), { limit: 10, continue: String(first.metadata.continue) });
      await until("the token has expired", async () => (await fixture.api.send(next)).status === 410);
      const status = await fixture.api.refused(next, 410, "Expired");
      const token = String(status.metadata?.continue);
      const rest = await fixture.api.list(fixture.at("configmaps"), { limit: 10, continue: token });
      expect(rest.items.map(({ metadata }) => metadata.name)).toEqual(["item-02", "item-03"]);
    },
  },
};
