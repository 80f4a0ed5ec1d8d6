// A packed store against a plain map: any order of writes, reads and deletes leaves both with the same objects, by key,
// by index and on a walk.
import fc from "fast-check";
import { expect, test } from "vitest";

import { keyOf, type KubeObject } from "../../meta.ts";
import { Store } from "../store.ts";

interface Nic extends KubeObject {
  spec: { network: string; macs: string[] };
}

const keys = Array.from({ length: 150 }, (_, at) => `shop/vm-${at}`);
const networks = ["red", "blue", "green"];
const step = fc.record({
  kind: fc.constantFrom("set", "set", "set", "delete", "get"),
  at: fc.nat(keys.length - 1),
  network: fc.constantFrom(...networks),
  macs: fc.array(fc.constantFrom("02:00:00:00:00:01", "02:00:00:00:00:02", "odd"), { maxLength: 4 }),
});

function nic(key: string, network: string, macs: string[], version: number): Nic {
  const [namespace = "", name = ""] = key.split("/");
  return { metadata: { namespace, name, uid: `uid-${key}`, resourceVersion: `${version}` }, spec: { network, macs } };
}

function made() {
  const indexes = { network: ({ spec }: { readonly spec: { readonly network: string } }) => [spec.network] };
  return new Store<Nic>(
    indexes,
    (error) => {
      throw error;
    },
    { repeats: ["network"] },
  );
}

test("packed objects are those of a map, whatever happened", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 400 }), (steps) => {
      const store = made();
      const model = new Map<string, Nic>();
      for (const [version, { kind, at, network, macs }] of steps.entries()) {
        const key = keys[at]!;
        if (kind === "get") expect(store.get(key)).toEqual(model.get(key));
        else if (kind === "delete") {
          expect(store.delete(key)).toEqual(model.get(key));
          model.delete(key);
        } else {
          const before = model.get(key);
          model.set(key, nic(key, network, macs, version));
          expect(store.set(nic(key, network, macs, version))).toEqual(before);
        }
      }
      expect(store.size).toBe(model.size);
      expect([...store.list()]).toEqual([...model.values()]);
      expect([...store.keys()]).toEqual([...model.keys()]);
      for (const network of networks) {
        const expected = [...model.values()].filter(({ spec }) => spec.network === network).map(keyOf);
        expect(store.keysBy("network", network).toSorted()).toEqual(expected.toSorted());
        expect(store.byIndex("network", network).map(keyOf).toSorted()).toEqual(expected.toSorted());
      }
    }),
    { numRuns: 60 },
  );
});

test("whoever has an object gets the same one again, after any number of others, until it is replaced; all are frozen", () => {
  const store = made();
  for (const key of keys) store.set(nic(key, "red", [], 1));
  const first = store.get(keys[0]!)!;
  for (const key of keys) expect(Object.isFrozen(store.get(key)!.spec.macs)).toBe(true);
  expect(store.get(keys[0]!)).toBe(first);
  expect(store.byIndex("network", "red").find((each) => keyOf(each) === keys[0])).toBe(first);
  expect([...store.list()][0]).toBe(first);
  expect(store.set(nic(keys[0]!, "blue", [], 2))).toBe(first);
  expect(store.get(keys[0]!)).not.toBe(first);
  expect(store.get(keys[0]!)!.spec.network).toBe("blue");
  expect(first.spec.network).toBe("red");
});
