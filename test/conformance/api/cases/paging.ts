// Lists in pieces, and lists of a given version.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import { configMap, makeConfigMaps } from "../fixtures.ts";
import { names, type KubeList } from "../object.ts";
import type { Subject, World } from "../world.ts";

interface PageOptions {
  readonly path?: string;
  readonly labelSelector?: string;
  /** Runs after the first page. */
  readonly between?: () => Promise<void>;
}

/** Follows the continue tokens to the end. */
async function pages(world: World, limit: number, options: PageOptions = {}): Promise<KubeList[]> {
  const { path = world.at("configmaps"), labelSelector = "", between } = options;
  const all: KubeList[] = [];
  for (let token = ""; all.length === 0 || token !== "";) {
    const page = await world.api.list(path, { limit, labelSelector, continue: token });
    if (all.push(page) === 1) await between?.();
    token = page.metadata.continue ?? "";
  }
  return all;
}

export const paging: Subject = {
  name: "paging and versions of lists",
  cases: {
    "limit cuts a list into pages that hold everything once": async (world) => {
      const made = await makeConfigMaps(world, 7);
      const all = await pages(world, 3);
      expect(all.map(({ items }) => items.length)).toEqual([3, 3, 1]);
      expect(all.flatMap(names)).toEqual(made);
    },
    "a page tells how many remain": async (world) => {
      await makeConfigMaps(world, 5);
      const all = await pages(world, 2);
      expect(all.map(({ metadata }) => metadata.remainingItemCount)).toEqual([3, 1, undefined]);
    },
    "a list that fits has no continue token": async (world) => {
      await makeConfigMaps(world, 2);
      const { metadata } = await world.api.list(world.at("configmaps"), { limit: 2 });
      expect(metadata.continue ?? "").toBe("");
    },
    "all pages are of one version": async (world) => {
      await makeConfigMaps(world, 4);
      const all = await pages(world, 2, {
        between: async () => {
          await world.make("configmaps", configMap("item-zz"));
        },
      });
      expect(new Set(all.map(({ metadata }) => metadata.resourceVersion)).size).toBe(1);
    },
    "what is made and removed between pages is not seen": async (world) => {
      const made = await makeConfigMaps(world, 4);
      const all = await pages(world, 2, {
        between: async () => {
          await world.make("configmaps", configMap("item-zz"));
          await world.api.done({ method: "DELETE", path: world.at("configmaps", "item-03") });
        },
      });
      expect(all.flatMap(names)).toEqual(made);
    },
    "what is changed between pages is seen as it was": async (world) => {
      await makeConfigMaps(world, 2);
      const all = await pages(world, 1, {
        between: async () => {
          await world.api.done(mergePatch(world.at("configmaps", "item-01"), { data: { k: "late" } }));
        },
      });
      expect(all[1]?.items[0]).not.toHaveProperty("data");
    },
    "pages hold what the selector selects": async (world) => {
      for (const name of ["a", "b", "c", "d", "e"]) {
        await world.make(
          "configmaps",
          configMap(name, {}, { labels: { odd: String(["a", "c", "e"].includes(name)) } }),
        );
      }
      const query = { labelSelector: "odd=true", limit: 2 };
      const first = await world.api.list(world.at("configmaps"), query);
      const rest = await world.api.list(world.at("configmaps"), {
        ...query,
        continue: String(first.metadata.continue),
      });
      expect([names(first), names(rest)]).toEqual([["a", "c"], ["e"]]);
      expect(first.metadata.remainingItemCount).toBeUndefined();
    },
    "a continue token that is none is a bad request": async (world) => {
      await world.api.refused(get(world.at("configmaps"), { limit: 1, continue: "garbage" }), 400, "BadRequest");
    },
    "a continue token beside a resourceVersion is a bad request": async (world) => {
      await makeConfigMaps(world, 2);
      const { metadata } = await world.api.list(world.at("configmaps"), { limit: 1 });
      const query = { limit: 1, continue: String(metadata.continue), resourceVersion: metadata.resourceVersion };
      await world.api.refused(get(world.at("configmaps"), query), 400, "BadRequest");
    },
    "resourceVersion 0 is served with whatever is there": async (world) => {
      const list = await world.api.list(world.at("configmaps"), { resourceVersion: 0 });
      expect(list.kind).toBe("ConfigMapList");
    },
    "NotOlderThan sees at least that version": async (world) => {
      const { metadata } = await world.make("configmaps", configMap("a"));
      const query = { resourceVersion: metadata.resourceVersion, resourceVersionMatch: "NotOlderThan" };
      const list = await world.api.list(world.at("configmaps"), query);
      expect(names(list)).toEqual(["a"]);
      expect(BigInt(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(BigInt(metadata.resourceVersion));
    },
    "Exact sees that version and nothing later": async (world) => {
      const { metadata } = await world.make("configmaps", configMap("a"));
      await world.make("configmaps", configMap("b"));
      const query = { resourceVersion: metadata.resourceVersion, resourceVersionMatch: "Exact" };
      const list = await world.api.list(world.at("configmaps"), query);
      expect(names(list)).toEqual(["a"]);
      expect(list.metadata.resourceVersion).toBe(metadata.resourceVersion);
    },
    "resourceVersionMatch without a resourceVersion is Invalid": async (world) => {
      const status = await world.api.refused(
        get(world.at("configmaps"), { resourceVersionMatch: "Exact" }),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ field: "resourceVersionMatch" });
    },
    "an unknown resourceVersionMatch is Invalid": async (world) => {
      const query = { resourceVersion: 1, resourceVersionMatch: "Roughly" };
      await world.api.refused(get(world.at("configmaps"), query), 422, "Invalid");
    },
    "a list of a version that is yet to come times out": async (world) => {
      const { metadata } = await world.api.list(world.at("configmaps"));
      const resourceVersion = (BigInt(metadata.resourceVersion) + 1_000_000n).toString();
      const query = { resourceVersion, resourceVersionMatch: "NotOlderThan" };
      const status = await world.api.refused(get(world.at("configmaps"), query), 504, "Timeout");
      expect(status.message).toContain("Too large resource version");
    },
    "a get of a version sees that one or a later": async (world) => {
      const { metadata } = await world.make("configmaps", configMap("a", { k: "1" }));
      await world.api.done(mergePatch(world.at("configmaps", "a"), { data: { k: "2" } }));
      const call = get(world.at("configmaps", "a"), { resourceVersion: metadata.resourceVersion });
      const seen = await world.api.done(call);
      expect(BigInt(seen.metadata.resourceVersion)).toBeGreaterThanOrEqual(BigInt(metadata.resourceVersion));
      const ahead = (BigInt(seen.metadata.resourceVersion) + 1_000_000n).toString();
      await world.api.refused(get(world.at("configmaps", "a"), { resourceVersion: ahead }), 504, "Timeout");
    },
    "pages across namespaces are in the order of namespace and name": async (world) => {
      const other = await world.neighbour();
      const labels = { pages: world.namespace };
      for (const name of ["a", "b"]) {
        await world.make("configmaps", configMap(name, {}, { labels }));
        await other.make("configmaps", configMap(name, {}, { labels }));
      }
      const all = await pages(world, 1, { path: "/api/v1/configmaps", labelSelector: `pages=${world.namespace}` });
      const seen = all.flatMap(({ items }) => items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
      const [first, second] = [world.namespace, other.namespace].sort();
      expect(seen).toEqual([`${first}/a`, `${first}/b`, `${second}/a`, `${second}/b`]);
    },
    "custom resources are paged as well": async (world) => {
      const w = await widgets(world);
      for (const name of ["a", "b", "c"]) await world.api.done(post(w.at(), w.body(name)));
      const first = await world.api.list(w.at(), { limit: 2 });
      await world.api.done(post(w.at(), w.body("d")));
      const rest = await world.api.list(w.at(), { limit: 2, continue: String(first.metadata.continue) });
      expect([names(first), names(rest)]).toEqual([["a", "b"], ["c"]]);
    },
  },
};
