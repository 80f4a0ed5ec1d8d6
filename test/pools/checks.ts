// `holdfast check` on a server: every inconsistency is found, told with its objects, and repaired where that is safe.
import { beforeEach, describe, expect, it } from "vitest";

import { examine } from "../../src/check/examine.ts";
import type { Finding } from "../../src/check/finding.ts";
import { poolRows } from "../../src/check/pool-table.ts";
import { repair, type RepairOptions } from "../../src/check/repair.ts";
import { readSnapshot, type Snapshot } from "../../src/check/snapshot.ts";
import { parseAsked, whoHolds } from "../../src/check/who.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { noSlicedRanges, slicedKey, writeSlicedRanges } from "../../src/cluster/sliced-ranges.ts";
import { stateName } from "../../src/cluster/state.ts";
import { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import { parseAddress } from "../../src/net/address.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { type Fixture, system } from "./fixture.ts";
import { whileTimePasses } from "./watching.ts";

const name = "10.0.0.0-24";
const signal = new AbortController().signal;
const status = (ips: string[]) => [{ name: "shop/blue", interface: "net1", ips }];

export function checkStories(fixture: () => Fixture): void {
  const network = (ipam: object = {}, metadata = { namespace: "shop", name: "blue" }) =>
    fixture().client.create(kinds.networkAttachmentDefinitions, {
      metadata,
      spec: {
        config: JSON.stringify({
          cniVersion: "1.0.0",
          name: "blue",
          type: "bridge",
          ipam: { type: "whereabouts", range: "10.0.0.0/24", ...ipam },
        }),
      },
    });

  beforeEach(async () => {
    await fixture().clear();
    await fixture().node("n1");
    await fixture().whereaboutsPool(name, "10.0.0.0/24");
    const data = { [slicedKey]: writeSlicedRanges(noSlicedRanges) };
    await fixture().client.create(kinds.configMaps, { metadata: { namespace: system, name: stateName }, data });
  });

  /** What the controller tells daemons of sliced ranges; null: nothing. */
  const tellSliced = async (sliced: string | null) => {
    const body = { data: { [slicedKey]: sliced } };
    await fixture().client.patch(kinds.configMaps, { namespace: system, name: stateName }, { type: "merge", body });
  };

  const look = (): Promise<Snapshot> =>
    readSnapshot({ client: fixture().client, systemNamespace: system, now: Date.now, signal });
  const codes = (findings: readonly Finding[]) => findings.map(({ code }) => code).toSorted();
  const find = async () => examine(await look());

  /** Looks, waits as long as it takes, and repairs. */
  const mend = async (options: Partial<RepairOptions> = {}) => {
    const clock = new ManualClock();
    const snapshot = await look();
    const ledgerOf = (_namespace: string, node?: string) => fixture().ledger(node);
    const common = { client: fixture().client, ledgerOf, clock, cooldownMs: 0, coexistence: false, signal };
    return whileTimePasses(clock, repair(snapshot, examine(snapshot), { ...common, ...options }));
  };

  it("finds nothing where all fits together", async () => {
    await network();
    const uid = await fixture().pod("shop", "web", { networks: status(["10.0.0.5"]) });
    await fixture().hold("10.0.0.5", { uid });
    await mend();
    expect(await find()).toEqual([]);
  });

  it("a running pod's address that nobody holds is held again, before anything is freed", async () => {
    await network();
    const uid = await fixture().pod("shop", "web", { networks: status(["10.0.0.5"]) });
    await fixture().hold("10.0.0.9", { uid: "gone", name: "late" });
    expect(codes(await find())).toEqual(["hold-without-entry", "leaked", "not-held"]);
    const results = await mend();
    expect(results.map(({ finding, isDone }) => [finding.code, isDone])).toEqual([
      ["not-held", true],
      ["hold-without-entry", true],
      ["leaked", true],
    ]);
    expect(await fixture().held()).toEqual(["10.0.0.5"]);
    const [answer] = whoHolds(await look(), parseAsked("10.0.0.5"));
    expect(answer).toMatchObject({
      owner: "pod shop/web (net1)",
      uid,
      node: "n1",
      why: expect.stringContaining("holdfast check"),
    });
  });

  it("a kubelet's own pod holds its address under the kubelet's UID, and is held again by its name", async () => {
    await network();
    const mirrorOf = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
    await fixture().pod("shop", "one", { networks: status(["10.0.0.5"]), mirrorOf });
    await fixture().hold("10.0.0.5", { uid: mirrorOf, name: "one" });
    await fixture().pod("shop", "two", { networks: status(["10.0.0.6"]), mirrorOf: `${mirrorOf.slice(1)}0` });
    expect(codes(await find())).toEqual(["hold-without-entry", "not-held"]);
    await mend();
    expect(codes(await find())).toEqual(["hold-without-entry"]);
    expect(whoHolds(await look(), parseAsked("10.0.0.6"))).toMatchObject([{ owner: "pod shop/two (net1)", uid: "" }]);
  });

  it("what a claim holds is its users', is no leak without them, and is freed by nobody here", async () => {
    await network();
    const uid = await fixture().pod("shop", "virt-launcher-vm-1", { networks: status(["10.0.0.5"]) });
    const owner = { kind: "claim", uid: "claim-1", namespace: "shop", name: "vm.blue" } as const;
    const users = [{ uid, name: "virt-launcher-vm-1", node: "n1" }];
    const note = { pool: `${system}/${name}`, identity: "vm-1/blue" };
    const ledger = fixture().ledger("n1");
    await ledger.take({ domain: "network:", address: parseAddress("10.0.0.5"), owner, users, note });
    await mend();
    // No claim of that UID is on this server.
    expect((await find()).map(({ code, severity }) => [code, severity])).toEqual([["claim-gone", "info"]]);
    const pool = await fixture().client.get(kinds.ipPools, { namespace: system, name });
    expect(pool.spec.allocations).toEqual({ "5": { id: "", podref: "shop/vm.blue", kind: "claim", uid: "claim-1" } });
    for (const asked of ["10.0.0.5", "shop/virt-launcher-vm-1", "shop/vm.blue"]) {
      expect(whoHolds(await look(), parseAsked(asked)), asked).toMatchObject([
        { owner: "claim shop/vm.blue", uid: "claim-1", identity: "vm-1/blue" },
      ]);
    }
    await fixture().pod("shop", "thief", { networks: status(["10.0.0.5"]) });
    expect(codes(await find())).toEqual(["claim-gone", "held-by-another"]);
    for (const pod of ["virt-launcher-vm-1", "thief"]) {
      await fixture().client.delete(kinds.pods, { namespace: "shop", name: pod }, { gracePeriodSeconds: 0 });
    }
    await mend();
    expect((await find()).map(({ code, severity }) => [code, severity])).toEqual([["claim-gone", "warning"]]);
    expect(await fixture().held()).toEqual(["10.0.0.5"]);
  });

  it("a hold that the snapshot missed is not written again", async () => {
    await network();
    const uid = await fixture().pod("shop", "web", { networks: status(["10.0.0.5"]) });
    const snapshot = await look();
    const hold = await fixture().hold("10.0.0.5", { uid, containerId: "c" });
    const options = {
      client: fixture().client,
      ledgerOf: () => fixture().ledger(),
      clock: new ManualClock(),
      cooldownMs: 0,
    };
    const results = await repair(snapshot, examine(snapshot), { ...options, coexistence: false, signal });
    expect(results.map(({ isDone, words }) => [isDone, words])).toEqual([
      [true, "10.0.0.5 is held for pod shop/web (net1) already."],
    ]);
    expect((await look()).held.map(({ hold: { version } }) => version)).toEqual([hold.version]);
  });

  it("a leak whose pod comes to life between the two looks is kept", async () => {
    await fixture().hold("10.0.0.5", {}, { node: "" });
    const snapshot = await look();
    const findings = examine(snapshot).filter(({ code }) => code === "leaked");
    expect(findings).toHaveLength(1);
    await fixture().pod("shop", "web");
    const clock = new ManualClock();
    const options = {
      client: fixture().client,
      ledgerOf: () => fixture().ledger(),
      clock,
      cooldownMs: 0,
      coexistence: false,
      signal,
    };
    const repairing = repair(snapshot, findings, options);
    await clock.advance(30_000);
    expect((await repairing)[0]?.words).toContain("is kept: pod shop/web exists");
    expect(await fixture().held()).toEqual(["10.0.0.5"]);
  });

  it("where too much looks leaked nothing is freed", async () => {
    for (let index = 1; index <= 60; index++)
      await fixture().hold(`10.0.0.${index}`, { uid: "gone", name: `p${index}` });
    const results = (await mend()).filter(({ finding }) => finding.code === "leaked");
    expect(results.every(({ isDone, words }) => !isDone && words.includes("--allow-mass-release"))).toBe(true);
    expect(await fixture().held()).toHaveLength(60);
  });

  it("the pool of the part that belongs to no node is used by the sliced network", async () => {
    await fixture().client.delete(kinds.ipPools, { namespace: system, name });
    await fixture().whereaboutsPool("floats-10.73.0.240-28", "10.73.0.240/28");
    expect(codes(await find())).toEqual(["pool-without-network"]);
    const range = parsePrefix("10.73.0.0/24");
    const floating = parsePrefix("10.73.0.240/28");
    const place = { namespace: system, network: "floats", range, pool: "floats" };
    const sliced = writeSlicedRanges({ version: 1, ranges: [{ ...place, phase: "open", floating, blocks: [] }] });
    // The pool of the whole range, which says who arbitrates what is shared of it.
    const entry = { "5": { id: "c", podref: "shop/a", ifname: "net1" } };
    await fixture().whereaboutsPool("floats-10.73.0.0-24", "10.73.0.0/24", entry);
    await fixture().hold("10.73.0.245", { uid: "b" }, { pool: `${system}/floats-10.73.0.240-28` });
    expect(codes(await find())).toContain("overlapping-ranges");
    await tellSliced(sliced);
    const found = await find();
    expect(codes(found)).not.toContain("overlapping-ranges");
    const part = `IPPool ${system}/floats-10.73.0.240-28`;
    expect(codes(found.filter(({ objects }) => objects.includes(part)))).not.toContain("pool-without-network");
  });

  it("entries without a hold: made while whereabouts is silent, left while it is active", async () => {
    await fixture().pod("shop", "old");
    const value = { id: "c", podref: "shop/old", ifname: "net1" };
    const operations = [{ op: "add", path: "/spec/allocations/7", value }] as const;
    await fixture().client.patch(kinds.ipPools, { namespace: system, name }, { type: "json", operations });
    expect(codes(await find())).toEqual(["entry-without-hold", "pool-without-network"]);
    expect((await mend({ coexistence: true }))[0]).toMatchObject({ isDone: false });
    expect(await fixture().held()).toEqual([]);
    await mend();
    expect(await fixture().held()).toEqual(["10.0.0.7"]);
  });

  it("an entry that names no pod is held, kept and told", async () => {
    await network();
    const operations = [{ op: "add", path: "/spec/allocations/7", value: { id: "c", podref: "" } }] as const;
    await fixture().client.patch(kinds.ipPools, { namespace: system, name }, { type: "json", operations });
    await mend();
    await mend();
    const found = (await find()).filter(({ code }) => code === "unreadable" || code === "leaked");
    expect(found).toMatchObject([
      { code: "unreadable", objects: [`OverlappingRangeIPReservation ${system}/10.0.0.7`] },
    ]);
    expect(await fixture().held()).toEqual(["10.0.0.7"]);
  });

  it("while handing out is paused nothing is repaired", async () => {
    await network();
    await fixture().pod("shop", "web", { networks: status(["10.0.0.5"]) });
    await fixture().hold("10.0.0.9", { uid: "gone", name: "late" });
    const results = await mend({ paused: "migrate by anna" });
    expect(results).toHaveLength(3);
    expect(results.every(({ isDone, words }) => !isDone && words.includes("migrate by anna"))).toBe(true);
    expect(await fixture().held()).toEqual(["10.0.0.9"]);
  });

  it("one address with two owners, by an entry and by its hold", async () => {
    const value = { id: "c", podref: "shop/theirs", ifname: "net1" };
    const operations = [{ op: "add", path: "/spec/allocations/5", value }] as const;
    await fixture().client.patch(kinds.ipPools, { namespace: system, name }, { type: "json", operations });
    const uid = await fixture().pod("shop", "mine");
    await fixture().hold("10.0.0.5", { uid, name: "mine" });
    const found = (await find()).find(({ code }) => code === "two-owners");
    expect(found).toMatchObject({
      objects: [`IPPool ${system}/${name}`, `OverlappingRangeIPReservation ${system}/10.0.0.5`],
    });
    expect(found?.message).toBe(
      `10.0.0.5 has two owners: shop/theirs by IPPool ${system}/${name}, pod shop/mine (net1) by its hold.`,
    );
    expect(found?.repair).toBeUndefined();
  });

  it("one address with two owners, by entries of two pools of one network", async () => {
    const theirs = { "5": { id: "c", podref: "shop/a", ifname: "net1" } };
    await fixture().whereaboutsPool("10.0.0.0-25", "10.0.0.0/25", theirs);
    const value = { id: "d", podref: "shop/b", ifname: "net1" };
    const operations = [{ op: "add", path: "/spec/allocations/5", value }] as const;
    await fixture().client.patch(kinds.ipPools, { namespace: system, name }, { type: "json", operations });
    expect(codes(await find())).toContain("two-owners");
    expect(codes(await find())).toContain("overlapping-ranges");
  });

  const unsafe = /A delete alone is unsafe: .* docs\/objects\.md, Removing a pool, has the order\.$/;

  it("an empty pool of a range that no definition has any more overlaps nobody; it is to be left, or removed in order", async () => {
    await network();
    await fixture().whereaboutsPool("10.0.0.0-25", "10.0.0.0/25");
    const found = await find();
    expect(codes(found)).toEqual(["pool-without-network"]);
    expect(found[0]?.remedy).toMatch(/^Nothing of it is held, and it harms nobody: leave it, or remove it by day\. /);
    expect(found[0]?.remedy).toMatch(unsafe);
    await fixture().hold("10.0.0.9", { uid: "gone" }, { pool: `${system}/10.0.0.0-25` });
    const held = await find();
    expect(codes(held)).toContain("overlapping-ranges");
    const remedy = held.find(({ code }) => code === "pool-without-network")?.remedy;
    expect(remedy).toMatch(/^Something of it is held: leave it\. /);
    expect(remedy).toMatch(unsafe);
  });

  it("an address that one pod uses and another holds", async () => {
    await network();
    await fixture().pod("shop", "web", { networks: status(["10.0.0.5"]) });
    const uid = await fixture().pod("shop", "other");
    await fixture().hold("10.0.0.5", { uid, name: "other" });
    const found = (await find()).find(({ code }) => code === "held-by-another");
    expect(found?.objects).toEqual(["Pod shop/web", `OverlappingRangeIPReservation ${system}/10.0.0.5`]);
  });

  it("two addresses of one owner, names and keys that cannot be read, a gateway that is held", async () => {
    await network({ gateway: "10.0.0.1" });
    const uid = await fixture().pod("shop", "web");
    await fixture().hold("10.0.0.5", { uid });
    await fixture().hold("10.0.0.1", { uid });
    await fixture().client.create(kinds.reservations, {
      metadata: { namespace: system, name: "no-address" },
      spec: { podref: "shop/x" },
    });
    const operations = [{ op: "add", path: "/spec/allocations/999", value: { id: "", podref: "shop/y" } }] as const;
    await fixture().client.patch(kinds.ipPools, { namespace: system, name }, { type: "json", operations });
    expect(codes(await find())).toEqual([
      "gateway-held",
      "hold-without-entry",
      "two-addresses",
      "unreadable",
      "unreadable",
    ]);
  });

  it("what a network asks for and does not get, as with whereabouts", async () => {
    await network({ range_start: "10.9.9.9", excludes: ["10.0.0.8"] });
    const found = (await find()).filter(({ code }) => code === "setting-ignored");
    expect(found.map(({ message }) => message)).toEqual([
      expect.stringContaining("exclude was probably meant"),
      expect.stringContaining('ipam.range_start is "10.9.9.9"'),
    ]);
    expect(found[0]).toMatchObject({ severity: "warning", objects: [expect.stringContaining("NetworkAttachmentDef")] });
  });

  it("what has cooled long ago is deleted, what still cools is not", async () => {
    const five = await fixture().hold("10.0.0.5", { uid: "u" });
    const six = await fixture().hold("10.0.0.6", { uid: "u", name: "b" });
    const long = { owner: "pod:u:net1" as never, domain: "network:" };
    await fixture()
      .ledger()
      .release({ ...long, address: five.address, cooldownMs: 600_000 });
    await fixture()
      .ledger()
      .release({ ...long, address: six.address, cooldownMs: 1 });
    const body = { metadata: { annotations: { "holdfast.io/cooling-until": "1000" } } };
    await fixture().client.patch(kinds.reservations, { namespace: system, name: "10.0.0.6" }, { type: "merge", body });
    expect(codes(await find())).toEqual(["cooled", "pool-without-network"]);
    await mend();
    const left = (await fixture().client.list(kinds.reservations)).items.map(({ metadata }) => metadata.name);
    expect(left).toEqual(["10.0.0.5"]);
  });

  it("one pool used with and without protection of overlaps", async () => {
    await network();
    await network({ enable_overlapping_ranges: false }, { namespace: "shop", name: "red" });
    const mixed = async () => (await find()).find(({ code }) => code === "mixed-protection");
    const pool = `IPPool ${system}/${name}`;
    const mark = (domain: string) => {
      const body = { metadata: { annotations: { "holdfast.io/domain": domain } } };
      return fixture().client.patch(kinds.ipPools, { namespace: system, name }, { type: "merge", body });
    };
    await mark("network:");
    const goesAlong = { severity: "warning", objects: [pool, "NetworkAttachmentDefinition shop/red"] };
    expect(await mixed()).toMatchObject(goesAlong);
    await mark(`pool:${system}/${name}`);
    const refused = { severity: "error", objects: [pool, "NetworkAttachmentDefinition shop/blue"] };
    expect(await mixed()).toMatchObject({ ...refused, message: expect.stringContaining("refused") });
    const remedy = (await mixed())?.remedy;
    expect(remedy).toMatch(
      /^Set it to false in all of them, or give those that say true a network_name of their own: /,
    );
    expect(remedy).toMatch(unsafe);
  });

  it("a pod whose network goes along with the pool's domain holds its address there", async () => {
    await network({ enable_overlapping_ranges: false });
    const annotations = { "holdfast.io/domain": "network:", "holdfast.io/adopted": "2026-01-01T00:00:00Z" };
    const body = { metadata: { annotations } };
    await fixture().client.patch(kinds.ipPools, { namespace: system, name }, { type: "merge", body });
    const uid = await fixture().pod("shop", "web", { networks: status(["10.0.0.5"]) });
    await fixture().hold("10.0.0.5", { uid });
    const found = await find();
    expect(codes(found)).toEqual(["hold-without-entry", "mixed-protection"]);
    // Nobody says true: a tenant's false did not count when the pool was first used.
    const remedy = expect.stringContaining("--trusted-namespaces") as string;
    expect(found.find(({ code }) => code === "mixed-protection")).toMatchObject({ severity: "warning", remedy });
  });

  it("a state by which daemons cannot know which ranges are sliced: missing, spoilt, of a later release", async () => {
    await network({});
    const told = async () => (await find()).map(({ code, severity, message }) => `${severity} ${code}: ${message}`);
    expect(await told()).toEqual([]);
    const later = {
      version: 7,
      ranges: [{ namespace: system, network: "", range: "10.0.0.0/24", pool: "p", phase: "x" }],
    };
    for (const text of [null, "{", JSON.stringify(later)]) {
      await tellSliced(text);
      const [finding, ...others] = await told();
      expect(finding).toMatch(
        /^error state-unknown: .* (has no key|cannot be read:) sliced, so daemons hand out nothing/,
      );
      expect(others).toEqual([]);
    }
    await fixture().client.delete(kinds.configMaps, { namespace: system, name: stateName });
    expect(await told()).toEqual([
      expect.stringContaining("holdfast-state does not exist, so daemons hand out nothing"),
    ]);
  });

  it("a definition that cannot be read is told, and others are not disturbed", async () => {
    await network({ range: "10.0.0.0/99" });
    await network({}, { namespace: "shop", name: "good" });
    expect((await find()).map(({ objects }) => objects[0])).toEqual(["NetworkAttachmentDefinition shop/blue"]);
  });

  describe("pools and who", () => {
    it("list what is used", async () => {
      await network();
      await fixture().hold("10.0.0.5", { uid: "u" });
      expect(poolRows(await look())).toEqual([
        {
          namespace: system,
          name,
          network: "",
          range: "10.0.0.0/24",
          total: "254",
          used: "1",
          free: "253",
          definitions: ["shop/blue"],
        },
      ]);
    });

    it("tell what a pod holds, and why", async () => {
      await fixture().hold("10.0.0.5", { uid: "u" }, { why: "the lowest free one" });
      await fixture().hold("fd00::5", { uid: "u" }, { domain: "network:blue" });
      const answers = whoHolds(await look(), parseAsked("shop/web"));
      expect(answers.map(({ address, domain, why }) => [address, domain, why])).toEqual([
        ["10.0.0.5", "network:", "the lowest free one"],
        ["fd00::5", "network:blue", ""],
      ]);
      expect(whoHolds(await look(), parseAsked("10.0.0.6"))).toEqual([]);
    });
  });
}
