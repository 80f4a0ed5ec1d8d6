// The plan, carried out on a map: whatever is found, everything that was in use is held in the end, and it does end.
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { coolingOf, restingMarks } from "../../api/holds/hold-marks.ts";
import type { IPPool } from "../../api/pools/ip-pool.ts";
import { type Owner, ownerKey } from "../../ipam/owner.ts";
import { parseAddress } from "../../net/address.ts";
import { type HeldObject, readHeld } from "../reservation/list-holds.ts";
import { recordsOf, rewritten } from "../reservation/records.ts";
import { planAdoption } from "./adoption-plan.ts";

const namespace = "kube-system";
const domain = "network:a";
const records = recordsOf(domain, namespace);

/** What an API server would keep: key is the name. */
class Server {
  readonly objects = new Map<string, HeldObject>();
  #versions = 0;

  put(object: HeldObject): void {
    this.#versions += 1;
    const name = object.metadata.name ?? "";
    const metadata = { uid: `u-${name}`, ...object.metadata, resourceVersion: String(this.#versions) };
    this.objects.set(name, { ...object, kind: "OverlappingRangeIPReservation", metadata });
  }

  /** Addresses of the network that are not free, by whatever name. */
  used(): Set<string> {
    const found = [...this.objects.values()].filter(({ metadata }) => coolingOf(metadata) === undefined);
    return new Set(found.flatMap((object) => meanings(object)));
  }
}

/** apiVersion and kind are what a list of the server fills in. */
const meanings = (object: HeldObject) =>
  readHeld(object).flatMap((each) =>
    each.unreadable === undefined && each.hold.domain === domain ? [each.hold.address.toString()] : [],
  );

const pod = fc.constantFrom("p", "q", "r");
const offset = fc.integer({ min: 1, max: 12 });
const entries = fc.dictionary(
  offset.map(String),
  pod.map((name) => ({ id: `c-${name}`, podref: `d/${name}`, ifname: "net1" })),
);
const ours = fc.record({ kind: fc.constant("ours" as const), offset, name: pod, rests: fc.boolean() });
const plain = fc.record({ kind: fc.constant("plain" as const), offset, name: pod });
const older = fc.record({
  kind: fc.constant("older" as const),
  offset,
  name: pod,
  network: fc.constantFrom("a-", "", "red-"),
});
const range = fc.constantFrom("b::/64", "b::3/64", "b::/112");

function ownerOf(name: string): Owner {
  return { kind: "pod", uid: `u-${name}`, namespace: "d", name, interface: "net1", containerId: `c-${name}` };
}

function place(
  server: Server,
  found: { kind: string; offset: number; name: string; rests?: boolean; network?: string },
): void {
  const address = parseAddress(`b::${found.offset.toString(16)}`);
  const spec = { podref: `d/${found.name}`, ifname: "net1" };
  const today = records.nameOf(address);
  if (found.kind === "plain") return server.put({ metadata: { namespace, name: today }, spec });
  if (found.kind === "older") {
    const name = `${found.network}b--${found.offset.toString(16)}`;
    return server.put({ metadata: { namespace, name }, spec });
  }
  const made = records.make({ address, owner: ownerOf(found.name) });
  const rest = restingMarks(made.metadata, { untilMs: 9, lastOwner: ownerKey(ownerOf(found.name)) });
  server.put(found.rests === true ? { ...made, metadata: { ...made.metadata, ...rest } } : made);
}

test("everything that was in use is held under today's name in the end", () => {
  fc.assert(
    fc.property(
      range,
      entries,
      fc.array(fc.oneof(ours, plain, older), { maxLength: 10 }),
      (spec, allocations, found) => {
        const server = new Server();
        for (const each of found) place(server, each);
        const pool: IPPool = {
          apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
          kind: "IPPool",
          metadata: { namespace, name: "a-p" },
          spec: { range: spec, allocations },
        };
        const before = server.used();
        const others = [...server.objects].filter(([name]) => name.startsWith("red-"));
        let rounds = 0;
        for (; ; rounds++) {
          const plan = planAdoption(records, [pool], [...server.objects.values()]);
          expect(plan.blocking).toEqual([]);
          if (plan.create.length + plan.claim.length + plan.retire.length === 0) break;
          expect(rounds).toBeLessThan(3);
          for (const hold of plan.create) {
            const made = records.make(hold);
            expect(server.objects.has(made.metadata.name ?? "")).toBe(false);
            server.put(made);
          }
          for (const { object, hold } of plan.claim) server.put(rewritten(object, records.make(hold)));
          for (const { metadata } of plan.retire) server.objects.delete(metadata.name ?? "");
        }
        const held = new Set(
          [...server.objects.values()].flatMap((object) =>
            coolingOf(object.metadata) === undefined
              ? meanings(object).filter((text) => records.nameOf(parseAddress(text)) === object.metadata.name)
              : [],
          ),
        );
        for (const address of before) expect(held).toContain(address);
        // An entry is held, unless its pod's address cools already.
        const base = spec.startsWith("b::3") ? 3 : 0;
        for (const [key, { podref }] of Object.entries(allocations)) {
          const text = `b::${(base + Number(key)).toString(16)}`;
          const object = server.objects.get(records.nameOf(parseAddress(text)));
          const elsewhere = [...server.objects.values()].some(
            ({ spec: each }) => (each as { podref?: string }).podref === podref,
          );
          const isHeld = held.has(text) || (object !== undefined && coolingOf(object.metadata) !== undefined);
          expect(isHeld || (base > 0 && elsewhere)).toBe(true);
        }
        for (const [name, object] of others) expect(server.objects.get(name)).toBe(object);
      },
    ),
    { numRuns: 500 },
  );
});

test("an address that rests and has an entry of a later container of its pod is that pod's", () => {
  const server = new Server();
  const address = parseAddress("b::5");
  const rested = records.make({ address, owner: ownerOf("p") });
  const cooling = { untilMs: 0, lastOwner: ownerKey(ownerOf("p")) };
  server.put({ ...rested, metadata: { ...rested.metadata, ...restingMarks(rested.metadata, cooling) } });
  const plan = (id: string) => {
    const allocations = { "5": { id, podref: "d/p", ifname: "net1" } };
    const pool = { metadata: { namespace, name: "x" }, spec: { range: "b::/64", allocations } } as unknown as IPPool;
    return planAdoption(records, [pool], [...server.objects.values()]).claim;
  };
  // The mirror is a moment behind the release: the same container is gone.
  expect(plan("c-p")).toEqual([]);
  // whereabouts takes a reservation of its own pod's name for its own: the pod came back there.
  expect(plan("c-later")).toMatchObject([{ hold: { address, owner: { name: "p", containerId: "c-later" } } }]);
});

test("a claim's entry: nothing to do where its hold stands; without one it is held for the claim again, not for a pod of its name", () => {
  const owner: Owner = { kind: "claim", uid: "claim-1", namespace: "d", name: "vm.blue" };
  const entry = { id: "", podref: "d/vm.blue", kind: "claim" as const, uid: "claim-1" };
  const pool: IPPool = {
    apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
    kind: "IPPool",
    metadata: { namespace, name: "a-10.0.0.0-24" },
    spec: { range: "10.0.0.0/24", allocations: { "7": entry } },
  };
  const users = [{ uid: "pod-1", name: "launcher", node: "n1" }];
  const server = new Server();
  server.put(records.make({ address: parseAddress("10.0.0.7"), owner, users, note: { identity: "vm/blue" } }));
  const standing = planAdoption(records, [pool], [...server.objects.values()]);
  expect([standing.create, standing.claim, standing.retire, standing.warnings]).toEqual([[], [], [], []]);
  const { create } = planAdoption(records, [pool], []);
  expect(create.map(({ address, owner: whose }) => [`${address}`, whose])).toEqual([["10.0.0.7", owner]]);
});
