// What the journal does beyond what every ledger does: grants, mirrors, moves, sandboxes, the clock, the lock.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

import { expect, it } from "vitest";

import type { Hold } from "../../src/ipam/ledger.ts";
import { ownerKey } from "../../src/ipam/owner.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { parseAddress } from "../../src/net/address.ts";
import { formatInterval, parseBlock } from "../../src/net/interval.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { copyOf, held, newFolder, open } from "./fixtures.ts";
import { domain, grantOf, pod } from "./slice.ts";

const ip = parseAddress;
const take = (journal: Journal, address: string, name: string) =>
  journal.take({ domain, address: ip(address), owner: pod(name) });
const release = (journal: Journal, address: string, name: string, cooldownMs = 0) =>
  journal.release({ domain, address: ip(address), owner: ownerKey(pod(name)), cooldownMs });
const blocks = (journal: Journal) => [...journal.blocksOf(domain)].map(formatInterval);
const mirrored = (address: string, name: string): Hold => ({
  domain,
  address: ip(address),
  owner: pod(name),
  version: "9",
});

it("hands out only what a durable grant has", async () => {
  const folder = newFolder();
  const journal = await open(folder);
  await expect(take(journal, "10.0.0.1", "a")).rejects.toMatchObject({ code: "unavailable" });
  const put = journal.put(grantOf("10.0.0.0/28"));
  // Decided and not on the disk yet.
  expect(blocks(journal)).toEqual([]);
  await put;
  expect(blocks(journal)).toEqual(["10.0.0.0-10.0.0.15"]);
  expect(await take(journal, "10.0.0.1", "a")).toMatchObject({ outcome: "taken" });
  await expect(take(journal, "10.0.0.16", "a")).rejects.toMatchObject({ code: "unavailable" });
  const again = await open(copyOf(folder));
  expect(again.grants()).toEqual([grantOf("10.0.0.0/28")]);
  expect(blocks(again)).toEqual(["10.0.0.0-10.0.0.15"]);
});

it.each([
  ["sealed", { sealed: true }, []],
  ["returning", { phase: "returning" }, []],
  ["draining", { phase: "draining" }, []],
  ["given up", { gives: { ask: 1, block: parsePrefix("10.0.0.8/29") } }, ["10.0.0.0-10.0.0.7"]],
  ["lent", { without: [parsePrefix("10.0.0.0/30")] }, ["10.0.0.4-10.0.0.15"]],
  ["taken", { taken: [parseBlock("10.0.0.3-10.0.0.14")] }, ["10.0.0.0-10.0.0.2", "10.0.0.15"]],
  ["moved", { moved: [ip("10.0.0.0")] }, ["10.0.0.1-10.0.0.15"]],
] as const)(
  "hands out nothing of what is %s, at once, and again only when that is durable",
  async (_what, more, left) => {
    const journal = await open(newFolder());
    const grant = grantOf("10.0.0.0/28");
    await journal.put(grant);
    const narrower = journal.put({ ...grant, serial: 2, ...more });
    expect(blocks(journal)).toEqual(left);
    await narrower;
    expect(blocks(journal)).toEqual(left);
    const wider = journal.put({ ...grant, serial: 3 });
    expect(blocks(journal)).toEqual(left);
    await wider;
    expect(blocks(journal)).toEqual(["10.0.0.0-10.0.0.15"]);
  },
);

it("lets an owner keep what it has in a slice that is not handed out of any more, and lets it go", async () => {
  const journal = await open(newFolder());
  await journal.put(grantOf("10.0.0.0/28"));
  await take(journal, "10.0.0.1", "a");
  await journal.drop(grantOf("10.0.0.0/28").key);
  expect(await take(journal, "10.0.0.1", "a")).toMatchObject({ outcome: "yours" });
  expect(await take(journal, "10.0.0.1", "b")).toMatchObject({ outcome: "held" });
  expect(await release(journal, "10.0.0.1", "a")).toEqual({ outcome: "released" });
  await expect(take(journal, "10.0.0.1", "a")).rejects.toMatchObject({ code: "unavailable" });
});

it("takes over a mirror with the grant, and lets what it has itself stand", async () => {
  const folder = newFolder();
  const journal = await open(folder);
  await journal.put(grantOf("10.0.0.0/28"), [mirrored("10.0.0.1", "a"), mirrored("10.0.0.2", "b")]);
  await journal.put(grantOf("10.0.0.0/28", { serial: 2 }), [mirrored("10.0.0.1", "x"), mirrored("10.0.0.3", "c")]);
  const wanted = { "10.0.0.1": "a", "10.0.0.2": "b", "10.0.0.3": "c" };
  expect(held(journal)).toEqual(wanted);
  expect(held(await open(copyOf(folder)))).toEqual(wanted);
});

it("moves a hold out, notes where it was, and does not hand it out again", async () => {
  const folder = newFolder();
  const journal = await open(folder);
  await journal.put(grantOf("10.0.0.0/30"));
  await take(journal, "10.0.0.2", "a");
  await journal.move(domain, ip("10.0.0.2"));
  for (const each of [journal, await open(copyOf(folder))]) {
    expect(held(each)).toEqual({});
    expect(each.grants()[0]!.moved.map(String)).toEqual(["10.0.0.2"]);
    expect(blocks(each)).toEqual(["10.0.0.0-10.0.0.1", "10.0.0.3"]);
  }
});

it("finds what a sandbox uses, in all domains", async () => {
  const journal = await open(newFolder());
  const other = "slice:kube-system/other";
  await journal.put(grantOf("10.0.0.0/28"));
  await journal.put(grantOf("10.0.1.0/28", { domain: other }));
  await take(journal, "10.0.0.1", "a");
  await journal.take({ domain: other, address: ip("10.0.1.1"), owner: pod("a") });
  await journal.take({ domain, address: ip("10.0.0.2"), owner: { ...pod("a"), interface: "net2" } as never });
  await take(journal, "10.0.0.3", "b");
  const found = () =>
    journal.ofAttachment({ containerId: "c-a", interfaceName: "net1" }).map(({ address }) => String(address));
  expect(found().sort()).toEqual(["10.0.0.1", "10.0.1.1"]);
  await release(journal, "10.0.0.1", "a");
  expect(found()).toEqual(["10.0.1.1"]);
});

it("tells those who follow once per domain that what they see is on the disk", async () => {
  const journal = await open(newFolder());
  const told: string[] = [];
  const stop = journal.follow((each) => told.push(`${each} ${Object.keys(held(journal)).length}`));
  await journal.put(grantOf("10.0.0.0/28"));
  await Promise.all(["1", "2", "3"].map((last) => take(journal, `10.0.0.${last}`, last)));
  await Promise.resolve();
  expect(told).toEqual([`${domain} 0`, `${domain} 3`]);
  stop();
  await release(journal, "10.0.0.1", "1");
  expect(told).toHaveLength(2);
});

it("writes many that wait with one fsync", async () => {
  const journal = await open(newFolder());
  await journal.put(grantOf("10.0.0.0/24"));
  const before = journal.stats.fsyncs;
  await Promise.all(Array.from({ length: 200 }, (_, i) => take(journal, `10.0.0.${i}`, `p${i}`)));
  expect(journal.stats.fsyncs).toBe(before + 1);
});

it("keeps when the Lease was renewed, to some minutes", async () => {
  const folder = newFolder();
  const journal = await open(folder);
  expect(journal.renewedMs).toBeUndefined();
  await journal.renewed(1_000_000);
  await journal.renewed(1_060_000);
  expect(journal.renewedMs).toBe(1_060_000);
  expect((await open(copyOf(folder))).renewedMs).toBe(1_000_000);
  await journal.renewed(1_180_000);
  expect((await open(copyOf(folder))).renewedMs).toBe(1_180_000);
});

it("is open once, is its user's alone, and has one id until it is made anew", async () => {
  const folder = join(newFolder(), "deep", "journal");
  const journal = await open(folder);
  await expect(Journal.open({ folder, now: () => 0 })).rejects.toMatchObject({ code: "locked" });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, "journal.log")).mode & 0o777).toBe(0o600);
  await journal.close();
  await expect(take(journal, "10.0.0.1", "a")).rejects.toMatchObject({ code: "unavailable" });
  expect((await open(folder)).id).toBe(journal.id);
  expect((await open(newFolder())).id).not.toBe(journal.id);
});

it.each([
  ["back by a day", -86_400_000],
  ["forward by a day", 86_400_000],
])("lets no address rest longer than its cooldown when the clock jumps %s", async (_what, jumpMs) => {
  const folder = newFolder();
  let nowMs = 100_000_000;
  const now = () => nowMs;
  const journal = await open(folder, { now });
  await journal.put(grantOf("10.0.0.0/28"));
  await take(journal, "10.0.0.1", "a");
  await release(journal, "10.0.0.1", "a", 30_000);
  nowMs += 10_000;
  expect(await take(journal, "10.0.0.1", "b")).toMatchObject({ outcome: "cooling", untilMs: nowMs + 20_000 });
  const before = copyOf(folder);
  nowMs += jumpMs;
  const restarted = await open(before, { now });
  const cooling = [...journal.coolingOf(domain)];
  // Forward: early. Back: the rest of it, and after a restart, which knows only the wall clock, a whole cooldown.
  expect(cooling.map(({ untilMs }) => untilMs - nowMs)).toEqual(jumpMs < 0 ? [20_000] : []);
  expect([...restarted.coolingOf(domain)].map(({ untilMs }) => untilMs - nowMs)).toEqual(jumpMs < 0 ? [30_000] : []);
  nowMs += 20_000;
  expect(await take(journal, "10.0.0.1", "b")).toMatchObject({ outcome: "taken" });
  nowMs += 10_000;
  expect(await take(restarted, "10.0.0.1", "b")).toMatchObject({ outcome: "taken" });
});

it("writes itself anew when it is mostly dead, while takes go on, and forgets nothing", async () => {
  const folder = newFolder();
  const journal = await open(folder);
  for (const generation of [7, 4])
    await journal.put({ ...grantOf("10.0.0.0/24"), key: `ns/${generation}`, generation });
  for (const key of ["ns/7", "ns/4"]) await journal.drop(key);
  const early = await open(copyOf(folder));
  await journal.put(grantOf("10.0.0.0/24"));
  await journal.renewed(5);
  await take(journal, "10.0.0.1", "stays");
  await take(journal, "10.0.0.2", "rests");
  await release(journal, "10.0.0.2", "rests", 30_000);
  for (let round = 0; round < 40; round++) {
    const churn = Array.from({ length: 100 }, (_, i) => `10.0.0.${i + 10}`);
    await Promise.all(churn.map((address) => take(journal, address, address)));
    await Promise.all(churn.map((address) => release(journal, address, address)));
  }
  await take(journal, "10.0.0.3", "last");
  await expect.poll(async () => (await take(journal, "10.0.0.3", "last"), journal.stats.records)).toBeLessThan(4200);
  expect(existsSync(join(folder, "journal.new"))).toBe(false);
  const again = await open(copyOf(folder));
  expect(held(again)).toEqual({ "10.0.0.1": "stays", "10.0.0.3": "last" });
  expect(again).toMatchObject({ id: journal.id, damaged: 0, suspect: "", renewedMs: 5 });
  expect([...again.coolingOf(domain)]).toMatchObject([{ lastOwner: ownerKey(pod("rests")) }]);
  expect(again.grants()).toEqual(journal.grants());
  // The latest generation of which a grant was dropped, in the new file and in the old one.
  expect([again, early].map((each) => [each.droppedOf(domain), each.droppedOf("slice:ns/other")])).toEqual([
    [7, 0],
    [7, 0],
  ]);
});
