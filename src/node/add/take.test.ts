// One share, while the state of the cluster changes under it: nothing is taken by an outdated state.
import { beforeEach, describe, expect, it } from "vitest";

import type { AmendableLedger } from "../../ipam/ledger.ts";
import type { PodOwner } from "../../ipam/owner.ts";
import { MemoryLedger, MemoryStore } from "../../ipam/testing/memory-ledger.ts";
import { realClock } from "../../kube/clock.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { silent } from "../../log/log.ts";
import { next } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { HoldIndex } from "../holds/hold-index.ts";
import { Ledgers } from "../pools/ledgers.ts";
import { PoolResolver } from "../pools/pool-resolver.ts";
import { RetryPause } from "../retry-pause.ts";
import { SharedSource } from "./shared-source.ts";
import type { Share } from "./shares.ts";
import { SlicedSource, type SlicedSourceParts } from "./sliced-source.ts";
import { type AddressSource, take, type TakeOrder } from "./take.ts";

const namespace = "kube-system";
const domain = "network:";
const definition = { prefix: parsePrefix("10.0.0.0/29"), cooldownMs: 0 };
const signal = new AbortController().signal;
const now = () => 1_000_000;
const owner = (name: string): PodOwner => ({ kind: "pod", uid: name, namespace: "d", name, interface: "eth0" });
const share: Share = { namespace, domain, definition, owner: owner("a"), want: { kind: "any" } };

let store: MemoryStore;
let paused: string;
/** The server lets a take wait, and its ledger asks again. */
let isPutOff: boolean;
/** Called when the ledger is asked, before it does anything. */
let onTake: () => void;
let onList: () => void;
let poolResolver: PoolResolver;
let held: HoldIndex;
let sourceOf: (order: TakeOrder) => AddressSource;
const order = { share, network: "net", lookFirst: false, onLost: () => {}, signal };
const taken = (asked: TakeOrder) => take({ sourceOf, random: () => 0 }, asked);

beforeEach(() => {
  [store, paused, isPutOff] = [new MemoryStore(), "", false];
  [onTake, onList] = [() => {}, () => {}];
  held = new HoldIndex();
  const list = () => {
    onList();
    return Promise.resolve({ items: [] });
  };
  const client = { list } as unknown as KubeClient;
  poolResolver = new PoolResolver({
    node: "node1",
    client,
    held,
    pace: new RetryPause(realClock, () => 0),
    log: silent,
    clock: { ...realClock, wallMs: now },
    coexistence: () => false,
    daemons: () => 1,
  });
  const memory = new MemoryLedger(store, { now });
  const ledger: AmendableLedger = {
    take: (request, options) => {
      onTake();
      if (isPutOff) options?.mayTake?.();
      return memory.take(request, options);
    },
    release: (request, options) => memory.release(request, options),
    amend: (request, options) => memory.amend(request, options),
    find: (where, key, options) => memory.find(where, key, options),
    list: (where, options) => memory.list(where, options),
  };
  const ledgers = new Ledgers(() => ledger);
  const clock = realClock;
  const obstacle = () => "of the node's slices";
  const sliced = { ledgers, held, clock, obstacle } as unknown as SlicedSourceParts;
  const calm = { onConflict: () => {}, paused: () => paused };
  const history = { expect: () => () => {}, reached: () => {} };
  const shared = { ledgers, poolResolver, held, now, history, ...calm };
  sourceOf = (asked) =>
    asked.share.slice === undefined ? new SharedSource(shared, asked) : new SlicedSource(sliced, asked);
});

const others = () => [...store.holds.values()].filter((hold) => hold.owner.name === "a");

describe("nothing is taken", () => {
  it("by a pool that was opened before the state changed: it may have to be adopted first", async () => {
    onList = () => poolResolver.forget(); // the first list of the picture is under way
    await expect(taken(order)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/changed/) as string,
    });
    expect(others()).toEqual([]);
    onList = () => {};
    expect(await taken(order)).toMatchObject({ isNew: true });
  });

  it("by the next try either, where the first met another's", async () => {
    await new MemoryLedger(store, { now }).take({
      domain,
      address: definition.prefix.network,
      owner: owner("b"),
    });
    const first = await taken({ ...order, share: { ...share, owner: owner("c") } });
    await new MemoryLedger(store, { now }).take({
      domain,
      address: next(first.hold.address)!,
      owner: owner("b"),
    });
    onTake = () => poolResolver.forget();
    await expect(taken(order)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/changed/) as string,
    });
    expect(others()).toEqual([]);
  });

  it("by a write that was put off until handing out was paused", async () => {
    isPutOff = true;
    onTake = () => void (paused = "holdfast migrate");
    await expect(taken(order)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/paused: holdfast migrate/) as string,
    });
    expect(others()).toEqual([]);
  });

  it("while handing out is paused, also by who was on the way before", async () => {
    onList = () => void (paused = "holdfast migrate");
    await expect(taken(order)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/paused: holdfast migrate/) as string,
    });
    expect(others()).toEqual([]);
  });
});

describe("in a range that was cut into slices, what the owner held before", () => {
  const slice = { namespace, network: "", range: definition.prefix };
  const again = { ...order, share: { ...share, slice, owner: { ...owner("a"), containerId: "c2" } } };
  const address = next(definition.prefix.network)!;

  beforeEach(async () => {
    const memory = new MemoryLedger(store, { now });
    const made = await memory.take({ domain, address, owner: { ...owner("a"), containerId: "c1" } });
    if (made.outcome === "taken") held.put({ namespace, hold: made.hold });
  });

  it("stays with it in its new sandbox", async () => {
    expect(await taken(again)).toMatchObject({ isNew: false, hold: { address, owner: { containerId: "c2" } } });
  });

  it("is not made again where it is gone: no slice leaves it out any more", async () => {
    store.holds.clear(); // the leader collected it, and a node may have given it since
    await expect(taken(again)).rejects.toThrow("of the node's slices");
    expect([others(), [...held.all()]]).toEqual([[], []]);
  });

  it("and is not another's by now", async () => {
    store.holds.clear();
    await new MemoryLedger(store, { now }).take({ domain, address, owner: owner("b") });
    await expect(taken(again)).rejects.toThrow("of the node's slices");
    expect([...held.all()]).toEqual([]);
  });
});
