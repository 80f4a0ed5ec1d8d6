// The collection against a slow oracle: a plain map that is sorted at every look.
import { array, assert, boolean, constantFrom, property, record } from "fast-check";
import { expect, test } from "vitest";

import { Collection } from "./collection.ts";
import { Entry, keyOf } from "./entry.ts";

const step = record({
  namespace: constantFrom("", "a", "a-b", "a.b", "b"),
  name: constantFrom("x", "y", "z", "x-1", "x.1", "0"),
  isDeletion: boolean(),
});

const sorted = (entries: Map<string, Entry | undefined>) =>
  [...entries].filter(([, entry]) => entry !== undefined).sort(([a], [b]) => (a < b ? -1 : 1));

test("lists, pages and lists of the past are those of the oracle", () => {
  assert(
    property(array(step, { maxLength: 60 }), array(step, { maxLength: 10 }), (steps, undone) => {
      const collection = new Collection();
      const oracle = new Map<string, Entry>();
      steps.forEach(({ namespace, name, isDeletion }, revision) => {
        const entry = new Entry({ resource: "/things", namespace, name }, revision, "{}");
        if (isDeletion) collection.delete(namespace, name);
        else collection.set(entry);
        if (isDeletion) oracle.delete(keyOf(namespace, name));
        else oracle.set(keyOf(namespace, name), entry);
      });
      const past = new Map<string, Entry | undefined>();
      for (const { namespace, name, isDeletion } of undone) {
        const entry = new Entry({ resource: "/things", namespace, name }, -1, "{}");
        past.set(keyOf(namespace, name), isDeletion ? undefined : entry);
      }
      const then = new Map([...oracle, ...past]);
      expect(collection.size).toBe(oracle.size);
      expect([...collection.list("", "")]).toEqual(sorted(oracle).map(([, entry]) => entry));
      expect([...collection.list("", "", past)]).toEqual(sorted(then).map(([, entry]) => entry));
      const inA = sorted(oracle).filter(([key]) => key.startsWith("a/"));
      expect([...collection.list("a", "")]).toEqual(inA.map(([, entry]) => entry));
      expect([...collection.list("a", "a/x-1")]).toEqual(
        inA.filter(([key]) => key > "a/x-1").map(([, entry]) => entry),
      );
    }),
  );
});
