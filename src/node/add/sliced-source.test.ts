// A request for an address of a sliced range, on a real journal; the test plays the agent and its grants.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { ownerKey, type PodOwner } from "../../ipam/owner.ts";
import type { Want } from "../../ipam/request.ts";
import { type Clock, realClock } from "../../kube/clock.ts";
import type { JournalGrant } from "../../ledger/journal/grant.ts";
import { Journal } from "../../ledger/journal/journal.ts";
import { parseAddress } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import { HoldIndex } from "../holds/hold-index.ts";
import { Ledgers } from "../pools/ledgers.ts";
import { SlicedPools } from "../pools/sliced-pools.ts";
import { SliceFacade } from "../slices/slice-facade.ts";
import { SlicedSource, type SlicedSourceParts } from "./sliced-source.ts";
import { take as takeShare } from "./take.ts";

const range = parsePrefix("10.0.0.0/16");
const use = { namespace: "kube-system", network: "blue", range };
const domain = "slice:kube-system/blue";
const grantOf = (slice: string, rest: Partial<JournalGrant> = {}): JournalGrant => ({
  key: `kube-system/blue-node1-${slice}`,
  domain,
  ...use,
  slice: parsePrefix(slice),
  generation: 1,
  serial: 1,
  phase: "active",
  without: [],
  taken: [],
  sealed: false,
  moved: [],
  ...rest,
});
const pod = (name: string, containerId = `c-${name}`): PodOwner => ({
  kind: "pod",
  uid: `uid-${name}`,
  namespace: "default",
  name,
  interface: "net1",
  containerId,
});

let folder: string;
let journal: Journal;
let pools: SlicedPools;
let obstacle: string;
let told: string[];
let grow: (() => Promise<void>) | undefined;
let parts: SlicedSourceParts;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-sliced-"));
  journal = await Journal.open({ folder, now: Date.now });
  obstacle = "";
  told = [];
  grow = undefined;
  pools = new SlicedPools(journal, Date.now);
  const agent = {
    journal,
    domainOf: () => (journal.grants().length === 0 ? undefined : domain),
    why: () => "all is given",
    refusal: () => undefined,
    short: () => void told.push("short"),
    changed: async (_: unknown, signal: AbortSignal) => {
      if (grow !== undefined) return grow();
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    },
  };
  // A wait of twenty seconds is none here.
  const clock = { ...realClock, after: (_: number, work: () => void) => realClock.after(1, work) };
  const ledgers = new Ledgers(() => {
    throw new Error("nothing is shared here");
  });
  parts = { agent, pools, clock, held: new HoldIndex(), ledgers, obstacle: () => obstacle };
});
afterEach(async () => {
  await journal.close();
  rmSync(folder, { recursive: true });
});

async function take(
  owner: PodOwner,
  want: Want = { kind: "any" },
  excludes: string[] = [],
  cooldownMs = 0,
  signal = new AbortController().signal,
) {
  const runs = excludes.map((text) => parsePrefix(text)).map(({ first, last }) => ({ first, last }));
  const definition = { prefix: range, excludes: runs, cooldownMs };
  const share = { namespace: use.namespace, definition, owner, want, slice: use };
  const order = { share, network: "net", lookFirst: false, onLost: () => {}, signal };
  const sources = { sourceOf: () => new SlicedSource(parts, order), random: Math.random };
  const { hold, isNew } = await takeShare(sources, order);
  return `${hold.address}${isNew ? " new" : ""}`;
}
const calledOff = AbortSignal.abort();
const starting = (clock: Clock) => {
  const isStarting = () => true;
  parts = { ...parts, clock, isStarting };
  return take(pod("a"), { kind: "any" }, [], 0, calledOff);
};
const untold = (clock: Clock) => {
  const read = () => ({ version: 0, ranges: [], unknown: "nobody leads" });
  return new SliceFacade({ journal, read, clock, obstacle: () => "" }).told(calledOff);
};
const outcome = async (promise: Promise<string>) =>
  promise.catch((error: { code?: unknown; message: string }) => `code ${String(error.code)}: ${error.message}`);

describe("a request of a sliced range", () => {
  it("finds what was freed behind the pools: a pod that is gone without a DEL", async () => {
    await journal.put(grantOf("10.0.1.0/31"));
    await take(pod("a"));
    await take(pod("b"));
    const [gone] = journal.holdsOf(domain);
    const { address, version } = gone!;
    // As the agent frees orphans: only the journal knows.
    await journal.release({ domain, address, owner: ownerKey(gone!.owner), version, cooldownMs: 0 });
    expect(await outcome(take(pod("c")))).toBe("10.0.1.0 new");
    await journal.release({ domain, address: parseAddress("10.0.1.1"), owner: ownerKey(pod("b")), cooldownMs: 0 });
    expect(await outcome(take(pod("d"), { kind: "given", address: parseAddress("10.0.1.1") }))).toBe("10.0.1.1 new");
  });

  it("gets the lowest address of the node's slice, its first and last included, and no other", async () => {
    await journal.put(grantOf("10.0.4.0/30"));
    const got = await Promise.all(["a", "b", "c", "d"].map((name) => take(pod(name))));
    expect(got.sort()).toEqual(["10.0.4.0 new", "10.0.4.1 new", "10.0.4.2 new", "10.0.4.3 new"]);
    expect(await outcome(take(pod("e")))).toMatch(
      /^code 101: this node has no free address of the range 10.0.0.0\/16 of network blue: all is given/,
    );
    expect(told).toEqual(["short"]);
  });

  it("never gets the range's own first address, nor what is excluded, taken or lent", async () => {
    const lent = {
      without: [parsePrefix("10.0.0.4/30")],
      taken: [{ first: parseAddress("10.0.0.2"), last: parseAddress("10.0.0.2") }],
    };
    await journal.put(grantOf("10.0.0.0/29", lent));
    expect(await take(pod("a"), { kind: "any" }, ["10.0.0.1/32"])).toBe("10.0.0.3 new");
    expect(await outcome(take(pod("b"), { kind: "any" }, ["10.0.0.1/32"]))).toContain("code 101");
  });

  it("gets its own again in a new sandbox, by another definition too, and after its slice is draining", async () => {
    await journal.put(grantOf("10.0.4.0/24"));
    expect(await take(pod("a"))).toBe("10.0.4.0 new");
    expect(await take(pod("a", "c-2"))).toBe("10.0.4.0");
    await journal.put(grantOf("10.0.4.0/24", { serial: 2, phase: "draining" }));
    expect(await take(pod("a", "c-3"), { kind: "any" }, ["10.0.4.0/28"])).toBe("10.0.4.0");
    expect(await outcome(take(pod("b")))).toContain("code 101");
  });

  it("waits for a slice, and goes on when one comes", async () => {
    grow = () => journal.put(grantOf("10.0.9.0/24"));
    expect(await take(pod("a"))).toBe("10.0.9.0 new");
    expect(told).toEqual(["short"]);
  });

  it.each([
    ["the first comparison", starting],
    ["the leader's word", untold],
  ] as const)(
    "that is called off does not wait for %s any more, and keeps nobody else from moving",
    async (_, wait) => {
      let looks = 0;
      grow = () => Promise.reject(new Error("called off"));
      const clock = { ...realClock, monotonicMs: () => (looks += 1) };
      await wait(clock).catch(() => {});
      expect(looks).toBeLessThan(5);
    },
  );

  it("two definitions of one network never give one address twice", async () => {
    await journal.put(grantOf("10.0.4.0/24"));
    const names = Array.from({ length: 40 }, (_, index) => `p${index}`);
    const got = await Promise.all(
      names.map((name, index) => take(pod(name), { kind: "any" }, index % 2 === 0 ? [] : ["10.0.4.0/30"])),
    );
    expect(new Set(got).size).toBe(40);
  });

  it("a released address rests for others, in every pool of the network", async () => {
    await journal.put(grantOf("10.0.4.0/24"));
    await take(pod("a"), { kind: "any" }, [], 60_000);
    const [hold] = journal.ofAttachment({ containerId: "c-a", interfaceName: "net1" });
    await journal.release({ domain, address: hold!.address, owner: "pod:uid-a:net1" as never, cooldownMs: 60_000 });
    pools.released(hold!, 60_000);
    expect(await take(pod("b"), { kind: "any" }, [], 60_000)).toBe("10.0.4.1 new");
    expect(await take(pod("a"), { kind: "any" }, [], 60_000)).toBe("10.0.4.0 new");
  });
});

describe("an address asked for by its number", () => {
  it("is given from the node's own slice, and refused with the remedy elsewhere", async () => {
    await journal.put(grantOf("10.0.4.0/24"));
    const given = (text: string): Want => ({ kind: "given", address: parseAddress(text) });
    expect(await take(pod("a"), given("10.0.4.77"))).toBe("10.0.4.77 new");
    expect(await outcome(take(pod("b"), given("10.0.4.77")))).toContain("code 101");
    expect(await outcome(take(pod("c"), given("10.0.5.1")))).toMatch(
      /10.0.5.1 is in no slice of this node.*floating_slice_size/,
    );
    expect(told).toEqual([]);
  });
});

it("nothing is handed out while something stands against it", async () => {
  await journal.put(grantOf("10.0.4.0/24"));
  obstacle = "handing out is paused by ops";
  expect(await outcome(take(pod("a")))).toBe("code 11: handing out is paused by ops");
  expect([...journal.holds()]).toEqual([]);
});
