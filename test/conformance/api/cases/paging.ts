// Lists in pieces, and lists of a given version.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, makeConfigMaps } from "../fixtures.ts";
import { names, type KubeList } from "../object.ts";

interface PageOptions {
  readonly path?: string;
  readonly labelSelector?: string;
  /** Runs after the first page. */
  readonly between?: () => Promise<void>;
}

/** Follows the continue tokens to the end. */
async function pages(fixture: Fixture, limit: number, options: PageOptions = {}): Promise<KubeList[]> {
  const { path = fixture.at("configmaps"), labelSelector = "", between } = options;
  const all: KubeList[] = [];
  for (let token = ""; all.length === 0 || token !== "";) {
    const page = await fixture.api.list(path, { limit, labelSelector, continue: token });
    if (all.push(page) === 1) await between?.();
    token = page.metadata.continue ?? "";
  }
  return all;
}

export const paging: Subject = {
  name: "paging and versions of lists",
  cases: {
    "limit cuts a list into pages that hold everything once": async (fixture) => {
      const made = await makeConfigMaps(fixture, 7);
      const all = await pages(fixture, 3);
      expect(all.map(({ items }) => items.length)).toEqual([3, 3, 1]);
      expect(all.flatMap(names)).toEqual(made);
    },
    "a page tells how many remain": async (fixture) => {
      await makeConfigMaps(fixture, 5);
      const all = await pages(fixture, 2);
      expect(all.map(({ metadata }) => metadata.remainingItemCount)).toEqual([3, 1, undefined]);
    },
    "a list that fits has no continue token": async (fixture) => {
      await makeConfigMaps(fixture, 2);
      const { metadata } = await fixture.api.list(fixture.at("configmaps"), { limit: 2 });
      expect(metadata.continue ?? "").toBe("");
    },
    "all pages are of one version": async (fixture) => {
      await makeConfigMaps(fixture, 4);
      const all = await pages(fixture, 2, {
        between: async () => {
          await fixture.make("configmaps", configMap("item-zz"));
        },
      });
      expect(new Set(all.map(({ metadata }) => metadata.resourceVersion)).size).toBe(1);
    },
    "what is made and removed between pages is not seen": async (fixture) => {
      const made = await makeConfigMaps(fixture, 4);
      const all = await pages(fixture, 2, {
        between: async () => {
          await fixture.make("configmaps", configMap("item-zz"));
          await fixture.api.done({ method: "DELETE", path: fixture.at("configmaps", "item-03") });
        },
      });
      expect(all.flatMap(names)).toEqual(made);
    },
    "what is changed between pages is seen as it was": async (fixture) => {
      await makeConfigMaps(fixture, 2);
      const all = await pages(fixture, 1, {
        between: async () => {
          await fixture.api.done(mergePatch(fixture.at("configmaps", "item-01"), { data: { k: "late" } }));
        },
      });
      expect(all[1]?.items[0]).not.toHaveProperty("data");
    },
    "pages hold what the selector selects": async (fixture) => {
      for (const name of ["a", "b", "c", "d", "e"]) {
        await fixture.make(
          "configmaps",
          configMap(name, {}, { labels: { odd: String(["a", "c", "e"].includes(name)) } }),
        );
      }
      const query = { labelSelector: "odd=true", limit: 2 };
      const first = await fixture.api.list(fixture.at("configmaps"), query);
      const rest = await fixture.api.list(fixture.at("configmaps"), {
        ...query,
        continue: String(first.metadata.continue),
      });
      expect([names(first), names(rest)]).toEqual([["a", "c"], ["e"]]);
      expect(first.metadata.remainingItemCount).toBeUndefined();
    },
    "a continue token that is none is a bad request": async (fixture) => {
      await fixture.api.refused(get(fixture.at("configmaps"), { limit: 1, continue: "garbage" }), 400, "BadRequest");
    },
    "a continue token beside a resourceVersion is a bad request": async (fixture) => {
      await makeConfigMaps(fixture, 2);
      const { metadata } = await fixture.api.list(fixture.at("configmaps"), { limit: 1 });
      const query = { limit: 1, continue: String(metadata.continue), resourceVersion: metadata.resourceVersion };
      await fixture.api.refused(get(fixture.at("configmaps"), query), 400, "BadRequest");
    },
    "resourceVersion 0 is served with whatever is there": async (fixture) => {
      const list = await fixture.api.list(fixture.at("configmaps"), { resourceVersion: 0 });
      expect(list.kind).toBe("ConfigMapList");
    },
    "NotOlderThan sees at least that version": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a"));
      const query = { resourceVersion: metadata.resourceVersion, resourceVersionMatch: "NotOlderThan" };
      const list = await fixture.api.list(fixture.at("configmaps"), query);
      expect(names(list)).toEqual(["a"]);
      expect(BigInt(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(BigInt(metadata.resourceVersion));
    },
    "Exact sees that version and nothing later": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a"));
      await fixture.make("configmaps", configMap("b"));
      const query = { resourceVersion: metadata.resourceVersion, resourceVersionMatch: "Exact" };
      const list = await fixture.api.list(fixture.at("configmaps"), query);
      expect(names(list)).toEqual(["a"]);
      expect(list.metadata.resourceVersion).toBe(metadata.resourceVersion);
    },
    "resourceVersionMatch without a resourceVersion is Invalid": async (fixture) => {
      const status = await fixture.api.refused(
        get(fixture.at("configmaps"), { resourceVersionMatch: "Exact" }),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ field: "resourceVersionMatch" });
    },
    "an unknown resourceVersionMatch is Invalid": async (fixture) => {
      const query = { resourceVersion: 1, resourceVersionMatch: "Roughly" };
      await fixture.api.refused(get(fixture.at("configmaps"), query), 422, "Invalid");
    },
    "a list of a version that is yet to come times out": async (fixture) => {
      const { metadata } = await fixture.api.list(fixture.at("configmaps"));
      const resourceVersion = (BigInt(metadata.resourceVersion) + 1_000_000n).toString();
      const query = { resourceVersion, resourceVersionMatch: "NotOlderThan" };
      const status = await fixture.api.refused(get(fixture.at("configmaps"), query), 504, "Timeout");
      expect(status.message).toContain("Too large resource version");
    },
    "a get of a version sees that one or a later": async (fixture) => {
      const { metadata } = await fixture.make("configmaps", configMap("a", { k: "1" }));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { k: "2" } }));
      const call = get(fixture.at("configmaps", "a"), { resourceVersion: metadata.resourceVersion });
      const seen = await fixture.api.done(call);
      expect(BigInt(seen.metadata.resourceVersion)).toBeGreaterThanOrEqual(BigInt(metadata.resourceVersion));
      const ahead = (BigInt(seen.metadata.resourceVersion) + 1_000_000n).toString();
      await fixture.api.refused(get(fixture.at("configmaps", "a"), { resourceVersion: ahead }), 504, "Timeout");
    },
    "pages across namespaces are in the order of namespace and name": async (fixture) => {
      const other = await fixture.neighbour();
      const labels = { pages: fixture.namespace };
      for (const name of ["a", "b"]) {
        await fixture.make("configmaps", configMap(name, {}, { labels }));
        await other.make("configmaps", configMap(name, {}, { labels }));
      }
      const all = await pages(fixture, 1, { path: "/api/v1/configmaps", labelSelector: `pages=${fixture.namespace}` });
      const seen = all.flatMap(({ items }) => items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
      const [first, second] = [fixture.namespace, other.namespace].sort();
      expect(seen).toEqual([`${first}/a`, `${first}/b`, `${second}/a`, `${second}/b`]);
    },
    "custom resources are paged as well": async (fixture) => {
      const w = await widgets(fixture);
      for (const name of ["a", "b", "c"]) await fixture.api.done(post(w.at(), w.body(name)));
      const first = await fixture.api.list(w.at(), { limit: 2 });
      await fixture.api.done(post(w.at(), w.body("d")));
      const rest = await fixture.api.list(w.at(), { limit: 2, continue: String(first.metadata.continue) });
      expect([names(first), names(rest)]).toEqual([["a", "b"], ["c"]]);
    },
  },
};
