// What a server answers when it is asked for a version that it has forgotten.
import { expect } from "vitest";

import { get } from "../call.ts";
import { widgets } from "../crd.ts";
import { configMap, makeConfigMaps } from "../fixtures.ts";
import { until } from "../until.ts";
import type { Subject, World } from "../world.ts";

/** Makes the versions so far forgotten. The write afterwards lets the server notice that time has passed. */
async function forget(world: World): Promise<void> {
  await world.make("configmaps", configMap("before"));
  await world.compact();
  await world.make("configmaps", configMap("after"));
}

export const gone: Subject = {
  name: "410 Gone",
  alone: true,
  cases: {
    "a watch from a forgotten version is an ERROR event of code 410": async (world) => {
      // Of a new kind, because a server may remember the whole short life of the built-in ones.
      const w = await widgets(world);
      await forget(world);
      await using watch = await world.api.watch(w.at(), { resourceVersion: 1 });
      const status = await watch.error();
      expect(status).toMatchObject({ kind: "Status", status: "Failure", code: 410, reason: "Expired" });
      expect(status.message).toContain("too old resource version");
    },
    "after a 410 a new list and a watch from its version work": async (world) => {
      await forget(world);
      const { metadata } = await world.api.list(world.at("configmaps"));
      await using watch = await world.api.watch(world.at("configmaps"), { resourceVersion: metadata.resourceVersion });
      await world.make("configmaps", configMap("later"));
      expect(await watch.event()).toMatchObject({ type: "ADDED", object: { metadata: { name: "later" } } });
    },
    "a list of exactly a forgotten version is 410 Expired": async (world) => {
      const { metadata } = await world.make("configmaps", configMap("a"));
      await forget(world);
      const query = { resourceVersion: metadata.resourceVersion, resourceVersionMatch: "Exact" };
      await until(
        "the version is forgotten",
        async () => (await world.api.send(get(world.at("configmaps"), query))).status === 410,
      );
      await world.api.refused(get(world.at("configmaps"), query), 410, "Expired");
    },
    "a continue token of a forgotten version is 410 Expired, with a token to go on": async (world) => {
      await makeConfigMaps(world, 4);
      const first = await world.api.list(world.at("configmaps"), { limit: 2 });
      await forget(world);
      const next = get(world.at("configmaps"), { limit: 10, continue: String(first.metadata.continue) });
      await until("the token has expired", async () => (await world.api.send(next)).status === 410);
      const status = await world.api.refused(next, 410, "Expired");
      const token = String(status.metadata?.continue);
      const rest = await world.api.list(world.at("configmaps"), { limit: 10, continue: token });
      expect(rest.items.map(({ metadata }) => metadata.name)).toEqual(["item-02", "item-03"]);
    },
  },
};
