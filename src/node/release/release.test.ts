// Releases, while other owners take, replies are lost and outcomes are unknown.
import { beforeEach, describe, expect, it } from "vitest";

import { acquire } from "../../ipam/acquire.ts";
import type { AmendableLedger, Hold } from "../../ipam/ledger.ts";
import { type OwnerKey, ownerKey, type PodOwner } from "../../ipam/owner.ts";
import { type LedgerFault, MemoryLedger, MemoryStore } from "../../ipam/testing/memory-ledger.ts";
import { parseAddress } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { HoldIndex } from "../holds/hold-index.ts";
import { CandidateSpread } from "../pools/candidate-spread.ts";
import { DomainCache } from "../pools/domain-cache.ts";
import { Ledgers } from "../pools/ledgers.ts";
import type { PoolResolver } from "../pools/pool-resolver.ts";
import type { Intent } from "./intents.ts";
import { type Releases, releasesOf } from "./release.ts";

const namespace = "kube-system";
const domain = "network:";
const address = parseAddress("10.0.0.1");
const definition = { prefix: parsePrefix("10.0.0.0/29"), cooldownMs: 0 };
const signal = new AbortController().signal;
const now = () => 1000;

const pod = (name: string, containerId: string, uid = `u-${name}`): PodOwner => ({
  kind: "pod",
  uid,
  namespace: "d",
  name,
  interface: "eth0",
  containerId,
});
const intentOf = (containerId: string, more: Partial<Intent> = {}): Intent => ({
  containerId,
  interfaceName: "eth0",
  targets: [],
  pools: [],
  cooldownMs: 0,
  sinceMs: 1,
  ...more,
});

let store: MemoryStore;
let held: HoldIndex;
let picture: DomainCache;
let faults: LedgerFault[];
beforeEach(() => {
  store = new MemoryStore();
  held = new HoldIndex();
  faults = [];
  const makeSpread = () => new CandidateSpread({ seed: "node", now, daemons: () => 1 });
  picture = new DomainCache({ namespace, domain, held, now, makeSpread });
});

const memory = () => new MemoryLedger(store, { now, fault: () => faults.shift() });

/** A node's releases, on a ledger that may do something between two calls. */
function releasesOn(ledger: AmendableLedger): Releases {
  const findLegacy = () => Promise.resolve([]);
  const poolResolver = {
    find: () => picture,
    released: (_namespace: string, hold: Hold, cooldownMs: number, lastOwner?: OwnerKey) =>
      picture.released(hold.address, hold.owner, cooldownMs, lastOwner),
  } as unknown as PoolResolver;
  const sliced = { ofAttachment: () => [] };
  const slicedPools = { released: () => {} };
  return releasesOf({ ledgers: new Ledgers(() => ledger), held, poolResolver, findLegacy, sliced, slicedPools });
}

/** Once, before or after a release is carried out. */
function around(ledger: MemoryLedger, when: "before" | "after", work: () => Promise<unknown>): AmendableLedger {
  let isDone = false;
  const once = async (moment: "before" | "after") => {
    if (isDone || moment !== when) return;
    isDone = true;
    await work();
  };
  return {
    take: (request, options) => ledger.take(request, options),
    amend: (request, options) => ledger.amend(request, options),
    release: async (request, options) => {
      await once("before");
      try {
        return await ledger.release(request, options);
      } finally {
        await once("after");
      }
    },
    find: (where, owner, options) => ledger.find(where, owner, options),
    list: (where, options) => ledger.list(where, options),
  };
}

describe("a hold with a keeper", () => {
  const note = { keeper: "statefulset/web" };
  const web = (containerId: string) => pod("web-0", containerId, "");
  const taken = async (ledger: AmendableLedger, owner: PodOwner): Promise<Hold> => {
    const outcome = await ledger.take({ domain, address, owner, note });
    if (outcome.outcome !== "taken" && outcome.outcome !== "yours") throw new Error(outcome.outcome);
    return outcome.hold;
  };
  const users = () => [...store.holds.values()].map(({ owner }) => (owner as PodOwner).containerId ?? "nobody");

  it.each(["before", "after"] as const)("stays with a later sandbox that takes it %s it is parked", async (when) => {
    held.put({ namespace, hold: await taken(memory(), web("one")) });
    // The answer is lost, and before it is asked again the pod's next life has begun on another node.
    if (when === "after") faults.push("lost-after-commit");
    const ledger = around(memory(), when, () => taken(new MemoryLedger(store, { now }), web("two")));
    await releasesOn(ledger).release(intentOf("one"), signal);
    expect(users()).toEqual(["two"]);
    expect(held.ofAttachment({ containerId: "one", interfaceName: "eth0" })).toEqual([]);
  });

  it("that is gone meanwhile is not made anew", async () => {
    held.put({ namespace, hold: await taken(memory(), web("one")) });
    const collected = () =>
      new MemoryLedger(store, { now }).release({ domain, address, owner: ownerKey(web("one")), cooldownMs: 0 });
    await releasesOn(around(memory(), "before", collected)).release(intentOf("one"), signal);
    expect(users()).toEqual([]);
  });

  it("whose park was not answered is parked by the second try", async () => {
    held.put({ namespace, hold: await taken(memory(), web("one")) });
    faults.push("lost-after-commit");
    await releasesOn(memory()).release(intentOf("one"), signal);
    expect([users(), held.size]).toEqual([["nobody"], 1]);
  });

  it("that somebody else on the network uses is not kept for the owner", async () => {
    const hold = await taken(memory(), web("one"));
    held.put({ namespace, hold });
    const attachment = { containerId: "one", interfaceName: "eth0" };
    const lastOwner = "conflict" as OwnerKey;
    await releasesOn(memory()).free({ namespace, hold }, { attachment, cooldownMs: 1000, signal, lastOwner });
    expect([users(), store.resting.size]).toEqual([[], 1]);
  });

  it("is parked, and known as such", async () => {
    held.put({ namespace, hold: await taken(memory(), web("one")) });
    await releasesOn(memory()).release(intentOf("one"), signal);
    expect(users()).toEqual(["nobody"]);
    expect([...store.holds.values()][0]!.note).toEqual(note);
    expect([...held.all()].map(({ hold }) => hold.version)).toEqual([...store.holds.values()].map((h) => h.version));
  });
});

describe("an answer that is late", () => {
  const others = [
    { what: "the pod's next sandbox", next: pod("a", "two"), note: undefined },
    { what: "another pod", next: pod("b", "two"), note: undefined },
    {
      what: "the next sandbox of a pod whose hold is kept",
      next: pod("a", "two"),
      note: { keeper: "statefulset/web" },
    },
  ];
  it.each(others)("erases nothing of what $what took meanwhile", async ({ next, note }) => {
    const pool = picture.poolFor(definition);
    const take = async (owner: PodOwner) => {
      const outcome = await memory().take({ domain, address, owner, ...(note && { note }) });
      if (outcome.outcome !== "taken" && outcome.outcome !== "yours") throw new Error(outcome.outcome);
      held.put({ namespace, hold: outcome.hold });
      picture.took(outcome.hold);
    };
    await take(pod("a", "one"));
    await releasesOn(around(memory(), "after", () => take(next))).release(intentOf("one"), signal);
    expect(held.ofAttachment({ containerId: "two", interfaceName: "eth0" })).toHaveLength(1);
    expect(pool.ownerAt(address)).toMatchObject({ uid: next.uid });
    // The known version is enough to free it.
    await releasesOn(memory()).free([...held.all()][0]!, {
      attachment: { containerId: "two", interfaceName: "eth0" },
      cooldownMs: 0,
      signal,
      lastOwner: "conflict" as OwnerKey,
    });
    expect([store.holds.size, held.size]).toEqual([0, 0]);
  });
});

describe("a take whose outcome was not known", () => {
  const owner = pod("a", "one");
  const target = { namespace, domain, owner };
  const fail = async () => {
    const pool = picture.poolFor(definition);
    const request = { owner };
    await expect(acquire({ ledger: memory(), domain, pool, request, random: () => 0 })).rejects.toThrow("10.0.0.1");
    return pool;
  };

  it("and that never was written does not keep its address from others for ever", async () => {
    faults = Array.from({ length: 5 }, () => "lost-before-commit");
    const pool = await fail();
    expect(pool.stateOf(address).state).toBe("allocated"); // it may be written, now or in a moment
    await releasesOn(memory()).release(intentOf("one", { targets: [target] }), signal);
    expect(pool.stateOf(address).state).toBe("free");
  });

  it("and that was, is given back", async () => {
    faults = Array.from({ length: 5 }, () => "lost-after-commit");
    const pool = await fail();
    await releasesOn(memory()).release(intentOf("one", { targets: [target] }), signal);
    expect([store.holds.size, pool.stateOf(address).state]).toEqual([0, "free"]);
  });

  it("and that a later sandbox of the pod has by now, stays that one's", async () => {
    faults = Array.from({ length: 5 }, () => "lost-after-commit");
    const pool = await fail();
    const later = await acquire({
      ledger: memory(),
      domain,
      pool,
      request: { owner: pod("a", "two") },
      random: () => 0,
    });
    if (later.kind === "acquired") held.put({ namespace, hold: later.hold });
    await releasesOn(memory()).release(intentOf("one", { targets: [target] }), signal);
    expect([store.holds.size, pool.stateOf(address).state]).toEqual([1, "allocated"]);
  });
});
