import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { PoolAllocation } from "../../api/pools/ip-pool.ts";
import { heldOf, poolOf } from "../leaks/testing/values.ts";
import { hasForeign, isOurs, mirrorPatch, planMirror } from "./mirror.ts";

const range = "10.0.0.0/28";

/** An entry for an offset: whose it is, and by whom it was written. */
const entries = fc.dictionary(
  fc.integer({ min: 0, max: 15 }).map(String),
  fc.record({ pod: fc.constantFrom("a", "b"), ours: fc.boolean() }),
  { maxKeys: 8 },
);
const holds = fc.uniqueArray(
  fc.record({ offset: fc.integer({ min: 0, max: 15 }), pod: fc.constantFrom("a", "b"), uid: fc.constantFrom("", "u") }),
  { selector: ({ offset }) => offset, maxLength: 8 },
);

function entryOf({ pod, ours }: { pod: string; ours: boolean }): PoolAllocation {
  return { id: "", podref: `shop/${pod}`, ifname: "net1", ...(ours && { uid: "old" }) };
}

/** What a server makes of the patch. */
function applied(allocations: Record<string, PoolAllocation>, patch: ReturnType<typeof mirrorPatch>) {
  const result = { ...allocations };
  for (const operation of patch) {
    const key = "path" in operation ? operation.path.split("/").at(-1)! : "";
    if (operation.op === "test") expect(result[key] ?? null).toEqual(operation.value);
    else if (operation.op === "add") result[key] = operation.value as PoolAllocation;
    else delete result[key];
  }
  return result;
}

describe("planMirror", () => {
  it("one pass, and the pool shows every hold, with every foreign entry as it was", () => {
    fc.assert(
      fc.property(entries, holds, fc.boolean(), (drawn, drawnHolds, coexistence) => {
        const before = Object.fromEntries(Object.entries(drawn).map(([key, each]) => [key, entryOf(each)]));
        const held = drawnHolds.map(({ offset, pod, uid }) =>
          heldOf({ address: `10.0.0.${offset}`, owner: { uid, name: pod } }),
        );
        const plan = planMirror(poolOf(range, before), held, { coexistence });
        const after = applied(before, mirrorPatch(plan.changes));
        for (const [key, entry] of Object.entries(before)) {
          const holder = drawnHolds.find(({ offset }) => String(offset) === key);
          const isSame = holder !== undefined && `shop/${holder.pod}` === entry.podref;
          // The oracle: foreign entries stay, unless they are the hold's own and whereabouts is gone.
          if (!isOurs(entry) && (!isSame || coexistence)) expect(after[key]).toEqual(entry);
          if (isOurs(entry) && holder === undefined) expect(after).not.toHaveProperty([key]);
        }
        for (const { offset, pod } of drawnHolds) {
          const entry = before[String(offset)];
          const isContested = entry !== undefined && !isOurs(entry) && entry.podref !== `shop/${pod}`;
          expect(plan.contested.includes(String(offset))).toBe(isContested);
          expect(after[String(offset)]?.podref).toBe(isContested ? entry.podref : `shop/${pod}`);
        }
        // And then there is nothing more to do.
        expect(planMirror(poolOf(range, after), held, { coexistence }).changes).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  it("says in short whether there are foreign entries", () => {
    fc.assert(
      fc.property(entries, holds, fc.boolean(), (drawn, drawnHolds, isOdd) => {
        const odd = isOdd ? { "no offset": entryOf({ pod: "a", ours: false }) } : {};
        const before = Object.fromEntries(Object.entries(drawn).map(([key, each]) => [key, entryOf(each)]));
        const pool = poolOf(range, { ...before, ...odd });
        const held = drawnHolds.map(({ offset, pod, uid }) =>
          heldOf({ address: `10.0.0.${offset}`, owner: { uid, name: pod } }),
        );
        const { foreign } = planMirror(pool, held, { coexistence: false });
        expect(hasForeign(pool, held)).toBe(foreign.length > 0);
      }),
    );
  });

  it("adds before it removes", () => {
    const before = { "3": entryOf({ pod: "a", ours: true }) };
    const { changes } = planMirror(poolOf(range, before), [heldOf({ address: "10.0.0.4" })], { coexistence: false });
    expect(changes.map(({ to }) => to !== undefined)).toEqual([true, false]);
  });

  it("an owner without a UID is marked as ours by its kind, and read back as the same", () => {
    const held = heldOf({ address: "10.0.0.4", owner: { uid: "" } });
    const { changes } = planMirror(poolOf(range), [held], { coexistence: false });
    expect(changes).toEqual([
      { key: "4", from: undefined, to: { id: "", podref: "shop/web-0", ifname: "net1", kind: "pod" } },
    ]);
  });

  it("what no key can say is counted, not written", () => {
    const pool = poolOf("10.0.0.5/28");
    const plan = planMirror(pool, [heldOf({ address: "10.0.0.4" }), heldOf({ address: "10.0.0.6" })], {
      coexistence: false,
    });
    expect(plan.changes.map(({ key }) => key)).toEqual(["1"]);
    expect(plan.unshown).toBe(1);
  });

  it("for whereabouts no offset from 2^63 on is written", () => {
    const held = [heldOf({ address: "fd00::8000:0:0:0" }), heldOf({ address: "fd00::1" })];
    const keys = (coexistence: boolean) =>
      planMirror(poolOf("fd00::/64"), held, { coexistence }).changes.map(({ key }) => key);
    expect(keys(true)).toEqual(["1"]);
    expect(keys(false)).toEqual(["1", "9223372036854775808"]);
  });

  it("while whereabouts is active nothing of a hold is left out, however many there are", () => {
    const held = Array.from({ length: 10 }, (_, index) => heldOf({ address: `10.0.0.${index}` }));
    const shown = (coexistence: boolean) =>
      planMirror(poolOf(range), held, { coexistence, entriesMax: 4 }).changes.length;
    expect(shown(true)).toBe(10);
    expect(shown(false)).toBe(4);
  });

  it("shows a claim by its own name, kind and UID, for no interface and no sandbox", () => {
    const base = heldOf({ address: "10.0.0.3" });
    const owner = { kind: "claim", uid: "claim-1", namespace: "shop", name: "vm.blue" } as const;
    const users = [{ uid: "pod-1", name: "virt-launcher-vm-1", node: "n1" }];
    const held = { ...base, hold: { ...base.hold, owner, users } };
    const pool = poolOf(range, { "4": { id: "", podref: "shop/vm.blue", kind: "claim", uid: "claim-0" } });
    const { changes } = planMirror(pool, [held], { coexistence: false });
    expect(changes.map(({ key, to }) => [key, to])).toEqual([
      ["3", { id: "", podref: "shop/vm.blue", kind: "claim", uid: "claim-1" }],
      ["4", undefined],
    ]);
  });
});
