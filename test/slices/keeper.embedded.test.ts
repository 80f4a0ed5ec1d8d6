// The node's side of slices on the embedded API, with the real journal: grant, restart, loss, the controller's wishes.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { leaseNodeAnnotation, nodeLeaseName, slicesAnnotation } from "../../src/api/slices/node-lease.ts";
import { grantAnnotation, nodeWordAnnotation, type SliceGrant, writeGrant } from "../../src/api/slices/slice-grant.ts";
import { openApi } from "../../src/apiserver/api.ts";
import { ipPools, nodeSlicePools, leases, pods } from "../../src/cluster/resources.ts";
import { ownerKey } from "../../src/ipam/owner.ts";
import { parseKey } from "../../src/kube/meta.ts";
import { type ApiResponse, NotSentError, type Transport } from "../../src/kube/transport/transport.ts";
import { type JournalDisk, type JournalFile, realJournalDisk } from "../../src/ledger/journal/disk.ts";
import { listHolds } from "../../src/ledger/reservation/list-holds.ts";
import { parseAddress } from "../../src/net/address.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import { domain, heldBy, AgentFixture, keyOfSlice, namespace, podOwner, slice, take, use } from "./agent-fixture.ts";

/** What the server refuses again and again is tried after half a minute at the latest. */
const patience = { timeout: 60_000 };
let daemonFixture: AgentFixture;

beforeEach(async () => {
  daemonFixture = new AgentFixture(openApi({ path: ":memory:" }));
  await installDefinitions(daemonFixture.client);
});
afterEach(() => daemonFixture.close());

const size = (node: { journal: { blocksOf(domain: string): { size: bigint } } }) => node.journal.blocksOf(domain).size;
const reserved = async () => {
  const found: string[] = [];
  for await (const each of listHolds(daemonFixture.client)) {
    if (each.unreadable === undefined) found.push(`${each.hold.domain} ${each.hold.address} ${each.hold.owner.name}`);
  }
  return found.sort();
};

/** As for a quota that is full, a policy, or a right that is missing. */
const refusal = (): ApiResponse => {
  const status = { kind: "Status", apiVersion: "v1", code: 403, reason: "Forbidden", message: "exceeded quota" };
  const bytes = new TextEncoder().encode(JSON.stringify(status));
  const body = (async function* () {
    yield bytes;
  })();
  return { status: 403, headers: { "content-type": "application/json" }, body };
};

/** A disk whose flushes wait while it is told to, all but the next few. */
function slowDisk(): { readonly disk: JournalDisk; readonly hold: (passing: number) => () => void } {
  let gate = Promise.resolve();
  let passing = 0;
  const slow = (file: JournalFile): JournalFile => ({
    append: (bytes) => file.append(bytes),
    datasync: () => (passing-- > 0 ? file.datasync() : gate.then(() => file.datasync())),
    truncate: (bytes) => file.truncate(bytes),
    close: () => file.close(),
  });
  const disk = {
    ...realJournalDisk,
    open: async (path: string) => slow(await realJournalDisk.open(path)),
    create: async (path: string) => slow(await realJournalDisk.create(path)),
  };
  const hold = (count: number) => {
    const held = Promise.withResolvers<void>();
    gate = held.promise;
    passing = count;
    return held.resolve;
  };
  return { disk, hold };
}

/** After so many more syncs it fails every one, until it is repaired. */
function dyingDisk() {
  let left = Number.POSITIVE_INFINITY;
  const dying = (file: JournalFile): JournalFile => ({
    append: (bytes) => file.append(bytes),
    datasync: () => (left-- > 0 ? file.datasync() : Promise.reject(new Error("EIO"))),
    truncate: (bytes) => file.truncate(bytes),
    close: () => file.close(),
  });
  const disk: JournalDisk = {
    ...realJournalDisk,
    open: async (path: string) => dying(await realJournalDisk.open(path)),
    create: async (path: string) => dying(await realJournalDisk.create(path)),
  };
  return { disk, dieAfter: (syncs: number) => void (left = syncs) };
}

/** One bit of the line that has the text. */
function damageLine(folder: string, text: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(folder, entry.name);
    const bytes = readFileSync(path);
    const at = bytes.indexOf(`"${text}"`);
    if (at < 0) continue;
    bytes[at + 2]! ^= 1;
    writeFileSync(path, bytes);
  }
}

describe("a grant", () => {
  it("is handed out of, and shown with its word", async () => {
    const node = await daemonFixture.start();
    await daemonFixture.grant(slice);
    await expect.poll(() => size(node), patience).toBe(16n);
    expect(node.keeper.mayHandOut()).toBe("");
    expect(node.keeper.isKnown()).toBe(true);
    expect(node.keeper.domainOf(use)).toBe(domain);
    expect(await take(node, "10.0.0.3", "a")).toBe("taken");
    await expect.poll(() => daemonFixture.entries(slice), patience).toEqual({ "3": "default/a" });
    await expect
      .poll(() => daemonFixture.word(slice), patience)
      .toMatchObject({ journal: node.journal.id, generation: 1, serial: 1, used: 1, free: 15 });
    await node.journal.release({
      domain,
      address: parseAddress("10.0.0.3"),
      owner: ownerKey(podOwner("a")),
      cooldownMs: 0,
    });
    await expect.poll(() => daemonFixture.entries(slice), patience).toEqual({});
    await expect.poll(() => node.keeper.figures, patience).toMatchObject({ slices: 1, holds: 0, behind: 0 });
  });

  it("renews the Lease, keeps what the controller wrote, and tells what was seen", async () => {
    let seen = 4;
    await daemonFixture.grant(slice);
    const node = await daemonFixture.start({ seenVersion: () => seen });
    const lease = () => daemonFixture.client.get(leases, { namespace, name: nodeLeaseName("n1") });
    await expect
      .poll(async () => (await lease()).metadata.annotations, patience)
      .toMatchObject({ "holdfast.io/seen": "4", "holdfast.io/node": "n1" });
    expect((await lease()).spec).toMatchObject({ holderIdentity: node.journal.id, leaseDurationSeconds: 43_200 });
    seen = 5;
    await expect.poll(async () => (await lease()).metadata.annotations?.["holdfast.io/seen"], patience).toBe("5");
    expect((await lease()).metadata.annotations?.["holdfast.io/slices"]).toContain(keyOfSlice(slice));
  });

  it("that whereabouts filled is read before anything is handed out", async () => {
    await daemonFixture.grant(slice, {}, { "10.0.0.1": { ...podOwner("old"), uid: "" } });
    const node = await daemonFixture.start();
    await expect.poll(() => size(node), patience).toBe(16n);
    expect(await take(node, "10.0.0.1", "new")).toBe("held");
    expect(heldBy(node)).toEqual(["10.0.0.1"]);
  });

  it("waits with a reason", async () => {
    const node = await daemonFixture.start();
    expect(node.keeper.why(use)).toContain("no slice of 10.0.0.0/24 yet");
    await daemonFixture.tellLease((slices) => ({
      ...slices,
      waiting: { [`${namespace} net 10.0.0.0/24`]: "all slices are taken" },
    }));
    await expect.poll(() => node.keeper.why(use), patience).toBe("all slices are taken");
  });
});

describe("a restart", () => {
  it("goes on where it was", async () => {
    const first = await daemonFixture.start();
    await daemonFixture.grant(slice);
    await expect.poll(() => size(first), patience).toBe(16n);
    await take(first, "10.0.0.3", "a");
    await expect.poll(() => daemonFixture.entries(slice), patience).toEqual({ "3": "default/a" });
    await first.stop();
    const before = (await daemonFixture.object(slice)).metadata.resourceVersion;
    const second = await daemonFixture.start();
    await expect.poll(() => second.keeper.isKnown(), patience).toBe(true);
    expect(heldBy(second)).toEqual(["10.0.0.3"]);
    await expect.poll(() => second.keeper.figures.behind, patience).toBe(0);
    expect((await daemonFixture.object(slice)).metadata.resourceVersion).toBe(before);
  });

  it("of a machine made anew reads the mirror and the running pods first", async () => {
    const first = await daemonFixture.start();
    await daemonFixture.grant(slice);
    await expect.poll(() => size(first), patience).toBe(16n);
    await take(first, "10.0.0.3", "a");
    await expect.poll(() => daemonFixture.entries(slice), patience).toEqual({ "3": "default/a" });
    await first.stop();
    const status = [
      { name: "cluster", interface: "eth0", ips: ["10.0.0.9"], default: true },
      { name: "default/net", interface: "net1", ips: ["10.0.0.5"] },
    ];
    await daemonFixture.pod("live", { annotations: { "k8s.v1.cni.cncf.io/network-status": JSON.stringify(status) } });
    daemonFixture.reimage();
    const second = await daemonFixture.start();
    expect(second.journal.id).not.toBe(first.journal.id);
    // The journal before may have been fenced: the controller has to say again that the slice is this node's.
    await expect
      .poll(() => daemonFixture.word(slice), patience)
      .toMatchObject({ journal: second.journal.id, serial: 2 });
    expect(size(second)).toBe(0n);
    await daemonFixture.change(slice, () => ({}));
    await expect.poll(() => size(second), patience).toBe(16n);
    expect(heldBy(second)).toEqual(["10.0.0.3", "10.0.0.5"]);
    await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ journal: second.journal.id, used: 2 });
  });

  it("with a stale generation hands out nothing of it, and keeps what is held", async () => {
    const first = await daemonFixture.start();
    await daemonFixture.grant(slice, { generation: 5 });
    await expect.poll(() => size(first), patience).toBe(16n);
    await take(first, "10.0.0.3", "a");
    await first.stop();
    await daemonFixture.remove(slice);
    await daemonFixture.grant(slice, { generation: 3 });
    const second = await daemonFixture.start();
    await expect.poll(() => second.keeper.isKnown(), patience).toBe(true);
    expect(size(second)).toBe(0n);
    expect(heldBy(second)).toEqual(["10.0.0.3"]);
    await second.stop();
    await daemonFixture.remove(slice);
    await daemonFixture.grant(slice, { generation: 6 });
    const third = await daemonFixture.start();
    await expect.poll(() => size(third), patience).toBe(16n);
    expect(await take(third, "10.0.0.3", "b")).toBe("held");
  });

  it("finds its object gone, and it is made again", async () => {
    const first = await daemonFixture.start();
    await daemonFixture.grant(slice, { generation: 5, taken: ["10.0.0.1"] });
    await expect.poll(() => size(first), patience).toBe(15n);
    await take(first, "10.0.0.3", "a");
    await first.stop();
    await daemonFixture.remove(slice);
    const second = await daemonFixture.start();
    await expect.poll(() => size(second), patience).toBe(15n);
    await expect.poll(() => daemonFixture.entries(slice), patience).toEqual({ "3": "default/a" });
  });

  it.each<[string, Partial<SliceGrant> | undefined, string[]]>([
    ["that gives by its own journal", { generation: 6 }, []],
    ["that lent the part", { generation: 6, without: ["10.0.0.0/30"] }, ["10.0.0.3"]],
    ["whose grant leaves the address out", { generation: 6, taken: ["10.0.0.2-10.0.0.4"] }, ["10.0.0.3"]],
    ["that had it before, by a restored copy", { generation: 4 }, ["10.0.0.3"]],
    ["that is not granted it yet", undefined, ["10.0.0.3"]],
  ])(
    "finds its slice with another %s: what runs here is recorded where that one does not give it",
    async (_, theirs, recorded) => {
      const first = await daemonFixture.start();
      await daemonFixture.grant(slice, { generation: 5 });
      await expect.poll(() => size(first), patience).toBe(16n);
      await take(first, "10.0.0.3", "a");
      await first.stop();
      await daemonFixture.remove(slice);
      await daemonFixture.name(slice, undefined);
      await daemonFixture.slicePool(6, [{ nodeName: "n2", sliceRange: slice }]);
      if (theirs !== undefined) await daemonFixture.grantTo("n2", slice, theirs);
      const second = await daemonFixture.start();
      await expect.poll(() => second.journal.grants(), patience).toEqual([]);
      expect(second.moved.map(({ address }) => `${address}`)).toEqual(recorded);
      expect([...heldBy(second), ...recorded]).toEqual(["10.0.0.3"]);
      // The copy that it was granted by comes back: it was given up.
      await daemonFixture.grant(slice, { generation: 5 }, { "10.0.0.9": podOwner("old") });
      await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ generation: 5, sealed: true });
      expect(size(second)).toBe(0n);
    },
  );

  it("makes its object again just while it is taken from it: it stays without a grant for the controller to remove, and hands out nothing", async () => {
    const first = await daemonFixture.start();
    await daemonFixture.grant(slice, { generation: 5 });
    await expect.poll(() => size(first), patience).toBe(16n);
    await first.stop();
    await daemonFixture.slicePool(5, [{ nodeName: "n1", sliceRange: slice }]);
    await daemonFixture.remove(slice);
    let made = 0;
    let deleted = 0;
    // The controller deleted the object; its status comes after the node has read it, before the node's object.
    const second = await daemonFixture.start({
      transport: async (request) => {
        // A daemon has no right to (tools/generate/deploy/rights.ts).
        if (request.method === "DELETE" && request.path.includes("/ippools/")) {
          deleted += 1;
          return refusal();
        }
        if (request.method === "POST" && request.path.includes("/ippools") && made++ === 0) {
          const pool = await daemonFixture.client.get(nodeSlicePools, { namespace, name: "net" });
          await daemonFixture.client.update(nodeSlicePools, { ...pool, status: { ...pool.status!, allocations: [] } });
        }
        return daemonFixture.api.transport(request);
      },
    });
    await expect.poll(() => second.journal.grants(), patience).toEqual([]);
    const { annotations } = (await daemonFixture.object(slice)).metadata;
    expect([annotations?.[grantAnnotation], annotations?.[nodeWordAnnotation]]).toEqual([undefined, undefined]);
    expect([made, deleted, size(second)]).toEqual([1, 0, 0n]);
  });

  it("makes its object again while the controller grants that anew: the newer grant counts", async () => {
    const first = await daemonFixture.start();
    await daemonFixture.grant(slice, { generation: 5 });
    await expect.poll(() => size(first), patience).toBe(16n);
    await first.stop();
    await daemonFixture.slicePool(5, [{ nodeName: "n1", sliceRange: slice }]);
    await daemonFixture.remove(slice);
    const { name } = parseKey(keyOfSlice(slice));
    const newer = writeGrant({ generation: 6, serial: 1, phase: "active", without: [], taken: ["10.0.0.1"] });
    let written = 0;
    const second = await daemonFixture.start({
      transport: async (request) => {
        if (request.method === "PATCH" && request.path.includes("/ippools/") && written++ === 0) {
          const body = { metadata: { annotations: { [grantAnnotation]: newer } } };
          await daemonFixture.client.patch(ipPools, { namespace, name }, { type: "merge", body });
        }
        return daemonFixture.api.transport(request);
      },
    });
    await expect.poll(() => second.journal.grants(), patience).toMatchObject([{ generation: 6 }]);
    await expect.poll(() => size(second), patience).toBe(15n);
    expect((await daemonFixture.object(slice)).metadata.annotations?.[grantAnnotation]).toBe(newer);
  });

  it("finds its object gone and the slice nobody's: what it holds is recorded for all", async () => {
    const first = await daemonFixture.start();
    await daemonFixture.grant(slice, { generation: 5 });
    await expect.poll(() => size(first), patience).toBe(16n);
    await take(first, "10.0.0.3", "a");
    await first.stop();
    await daemonFixture.remove(slice);
    await daemonFixture.slicePool(5, [{ nodeName: "n2", sliceRange: "10.0.0.16/28" }]);
    const second = await daemonFixture.start();
    await expect.poll(() => second.journal.grants(), patience).toEqual([]);
    const moved = second.moved.map(({ address, domain: to }) => `${to} ${address}`);
    expect([size(second), heldBy(second), moved]).toEqual([0n, [], ["network:net 10.0.0.3"]]);
  });

  // The shared pool of the range is made before the first record.
  it.each(["ippools", "overlappingrangeipreservations"])(
    "may not make %s to record what it holds in a slice that is nobody's: it tries until it may, and other slices go on",
    async (kind) => {
      const first = await daemonFixture.start();
      await daemonFixture.grant(slice, { generation: 5 });
      await daemonFixture.grant("10.0.0.16/28", { generation: 6 });
      await expect.poll(() => size(first), patience).toBe(32n);
      await take(first, "10.0.0.3", "a");
      await first.stop();
      await daemonFixture.remove(slice);
      await daemonFixture.name(slice, undefined);
      await daemonFixture.slicePool(6, [{ nodeName: "n1", sliceRange: "10.0.0.16/28" }]);
      let refused = 0;
      let isFull = true;
      const second = await daemonFixture.start({
        transport: async (request) => {
          const isMaking = request.method === "POST" && request.path.includes(`/${kind}`);
          if (!isMaking || !isFull) return daemonFixture.api.transport(request);
          refused += 1;
          return refusal();
        },
      });
      await expect.poll(() => refused, patience).toBeGreaterThan(1);
      expect([second.journal.grants().length, heldBy(second), second.moved]).toEqual([2, ["10.0.0.3"], []]);
      await expect.poll(() => [second.keeper.mayHandOut(), size(second)], patience).toEqual(["", 16n]);
      isFull = false;
      await expect.poll(() => second.moved.map(({ address }) => String(address)), patience).toEqual(["10.0.0.3"]);
      await expect.poll(() => second.journal.grants().length, patience).toBe(1);
    },
  );
});

describe("the API server is away", () => {
  let isAway = false;
  const transport: Transport = (request) =>
    isAway ? Promise.reject(new NotSentError("the test cut the line")) : daemonFixture.api.transport(request);
  beforeEach(() => void (isAway = false));

  it("the journal goes on, and the mirror catches up", async () => {
    const node = await daemonFixture.start({ transport });
    await daemonFixture.grant(slice);
    await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ free: 16 });
    isAway = true;
    for (let each = 1; each <= 9; each++) expect(await take(node, `10.0.0.${each}`, `p${each}`)).toBe("taken");
    await expect.poll(() => node.keeper.figures, patience).toMatchObject({ isAway: true, behind: 1 });
    expect(node.keeper.mayHandOut()).toBe("");
    isAway = false;
    await expect.poll(async () => Object.keys(await daemonFixture.entries(slice)).length, patience).toBe(9);
    await expect.poll(() => node.keeper.figures, patience).toMatchObject({ isAway: false, behind: 0 });
  });

  it("a restart believes the journal while its authority lasts, and no longer", async () => {
    const first = await daemonFixture.start({ transport });
    await daemonFixture.grant(slice);
    await expect.poll(() => size(first), patience).toBe(16n);
    await first.stop();
    isAway = true;
    const second = await daemonFixture.start({ transport });
    await expect.poll(() => second.keeper.isKnown(), patience).toBe(true);
    expect(second.keeper.mayHandOut()).toBe("");
    const hours = (count: number) => count * 3_600_000;
    daemonFixture.moment = { ...daemonFixture.moment, uptimeMs: daemonFixture.moment.uptimeMs + hours(13) };
    expect(second.keeper.mayHandOut()).toContain("has not renewed its Lease for 12 h");
    await second.stop();
    daemonFixture.moment = { bootId: "next", uptimeMs: 0, wallMs: daemonFixture.moment.wallMs - hours(1) };
    const third = await daemonFixture.start({ transport });
    await expect.poll(() => third.keeper.figures.isAway, patience).toBe(true);
    expect([third.keeper.isKnown(), third.keeper.mayHandOut()]).toEqual([false, expect.stringContaining("clock")]);
    isAway = false;
    await expect.poll(() => third.keeper.mayHandOut(), patience).toBe("");
    await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ serial: 2 });
    expect(size(third)).toBe(0n);
    await daemonFixture.change(slice, () => ({}));
    await expect.poll(() => size(third), patience).toBe(16n);
  });

  it("one that was paused hands out nothing before the controller has granted its slice anew", async () => {
    const node = await daemonFixture.start({ transport });
    await daemonFixture.grant(slice);
    await expect.poll(() => size(node), patience).toBe(16n);
    expect(node.keeper.mayHandOut()).toBe("");
    daemonFixture.moment = { ...daemonFixture.moment, wallMs: daemonFixture.moment.wallMs + 300_000 };
    expect(node.keeper.mayHandOut()).toContain("asleep");
    await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ serial: 2, free: 0 });
    expect(size(node)).toBe(0n);
    await daemonFixture.change(slice, () => ({}));
    await expect.poll(() => size(node), patience).toBe(16n);
    expect(node.keeper.mayHandOut()).toBe("");
  });

  it("in part: while the Lease is renewed and slices cannot be read, nothing is handed out of them", async () => {
    const first = await daemonFixture.start({ transport });
    await daemonFixture.grant(slice);
    await expect.poll(() => size(first), patience).toBe(16n);
    await first.stop();
    const body = { metadata: { annotations: { [leaseNodeAnnotation]: "n2" } } };
    await daemonFixture.client.patch(
      ipPools,
      { namespace, name: parseKey(keyOfSlice(slice)).name },
      { type: "merge", body },
    );
    let reads = 0;
    const blind: Transport = (request) => {
      if (!request.path.includes("/ippools/")) return daemonFixture.api.transport(request);
      reads += 1;
      return Promise.reject(new NotSentError("the test cut the line"));
    };
    const second = await daemonFixture.start({ transport: blind });
    await expect.poll(() => second.keeper.isWaitedFor && reads > 0, patience).toBe(true);
    await expect.poll(() => second.keeper.figures.isAway, patience).toBe(true);
    expect(second.keeper.mayHandOut()).toContain("being compared");
  });

  it("a disk that was copied to another machine hands out nothing of the first one's slices", async () => {
    const first = await daemonFixture.start({ transport });
    await daemonFixture.grant(slice);
    await expect.poll(() => size(first), patience).toBe(16n);
    expect(await take(first, "10.0.0.1", "a")).toBe("taken");
    await first.stop();
    isAway = true;
    const copy = await daemonFixture.start({ transport, node: "n2" });
    await expect.poll(() => copy.keeper.isKnown(), patience).toBe(true);
    expect([copy.keeper.mayHandOut(), size(copy)]).toEqual(["", 0n]);
    expect([...copy.journal.holds()].map(({ address }) => String(address))).toEqual(["10.0.0.1"]);
    await copy.stop();
    // Back in the first machine: the API server says that they are its own.
    isAway = false;
    const back = await daemonFixture.start({ transport });
    await expect.poll(() => size(back), patience).toBe(16n);
  });

  it("when the authority was over, slices are compared before they are handed out of again", async () => {
    const node = await daemonFixture.start({ transport });
    await daemonFixture.grant(slice, { generation: 5 });
    await expect.poll(() => size(node), patience).toBe(16n);
    isAway = true;
    await expect.poll(() => node.keeper.figures.isAway, { timeout: 40_000 }).toBe(true);
    daemonFixture.moment = { ...daemonFixture.moment, uptimeMs: daemonFixture.moment.uptimeMs + 25 * 3_600_000 };
    await daemonFixture.remove(slice);
    await daemonFixture.name(slice, undefined);
    await daemonFixture.slicePool(6, [{ nodeName: "n2", sliceRange: slice }]);
    isAway = false;
    await expect.poll(() => node.keeper.mayHandOut(), patience).toBe("");
    expect(size(node)).toBe(0n);
  }, 60_000);
});

describe("what the controller wishes", () => {
  it("an empty slice is sealed when it is to be returned, one in use is not", async () => {
    const node = await daemonFixture.start();
    await daemonFixture.grant(slice);
    await expect.poll(() => size(node), patience).toBe(16n);
    await take(node, "10.0.0.3", "a");
    await daemonFixture.change(slice, () => ({ phase: "returning" }));
    await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ serial: 2, sealed: false, used: 1 });
    expect(size(node)).toBe(0n);
    await daemonFixture.change(slice, () => ({ phase: "active" }));
    await expect.poll(() => size(node), patience).toBe(16n);
    await daemonFixture.change(slice, () => ({ phase: "returning" }));
    await expect.poll(() => size(node), patience).toBe(0n);
    await node.journal.release({
      domain,
      address: parseAddress("10.0.0.3"),
      owner: ownerKey(podOwner("a")),
      cooldownMs: 2000,
    });
    await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ sealed: true, used: 0 });
    await daemonFixture.remove(slice);
    await daemonFixture.name(slice, undefined);
    await expect.poll(() => node.journal.grants(), patience).toEqual([]);
  });

  it("a draining slice moves what it holds to the reservation ledger, and is sealed", async () => {
    const node = await daemonFixture.start();
    await daemonFixture.grant(slice);
    await expect.poll(() => size(node), patience).toBe(16n);
    for (const each of ["3", "4"]) await take(node, `10.0.0.${each}`, `p${each}`);
    await daemonFixture.change(slice, () => ({ phase: "draining" }));
    await expect
      .poll(() => daemonFixture.word(slice), patience)
      .toMatchObject({ sealed: true, used: 0, moved: ["10.0.0.3", "10.0.0.4"] });
    expect(await reserved()).toEqual(["network:net 10.0.0.3 p3", "network:net 10.0.0.4 p4"]);
    expect(node.moved.map(({ address, owner }) => [String(address), owner])).toEqual([
      ["10.0.0.3", podOwner("p3")],
      ["10.0.0.4", podOwner("p4")],
    ]);
    expect([heldBy(node), await daemonFixture.entries(slice)]).toEqual([[], {}]);
  });

  it("an address that is recorded for another stays, and the slice is not sealed", async () => {
    const node = await daemonFixture.start();
    await daemonFixture.grant(slice);
    await expect.poll(() => size(node), patience).toBe(16n);
    await take(node, "10.0.0.3", "a");
    await daemonFixture.reserve("10.0.0.3", "b");
    await daemonFixture.change(slice, () => ({ phase: "draining" }));
    await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ serial: 2, sealed: false });
    expect(heldBy(node)).toEqual(["10.0.0.3"]);
    await node.journal.release({
      domain,
      address: parseAddress("10.0.0.3"),
      owner: ownerKey(podOwner("a")),
      cooldownMs: 0,
    });
    await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ sealed: true });
    expect(await reserved()).toEqual(["network:net 10.0.0.3 b"]);
  });

  it("a piece is given up and lent, and comes back only as a grant of its own", async () => {
    const node = await daemonFixture.start();
    await daemonFixture.grant(slice);
    await expect.poll(() => size(node), patience).toBe(16n);
    await take(node, "10.0.0.15", "a");
    await daemonFixture.change(slice, () => ({ lend: { ask: 1, addresses: 4 } }));
    await expect
      .poll(() => daemonFixture.word(slice), patience)
      .toMatchObject({ gives: { ask: 1, block: "10.0.0.8/30" }, free: 11 });
    await expect(take(node, "10.0.0.9", "b")).rejects.toThrow("no slice");
    await daemonFixture.change(slice, () => ({ lend: undefined, without: ["10.0.0.8/30"] }));
    await expect.poll(() => daemonFixture.word(slice), patience).not.toHaveProperty("gives");
    expect(size(node)).toBe(12n);
    await daemonFixture.change(slice, () => ({ without: [] }));
    const told = { gives: { block: "10.0.0.8/30" }, free: 11 };
    await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject(told);
    await daemonFixture.change(slice, () => ({ lend: { ask: 2, addresses: 4 } }));
    await daemonFixture.change(slice, () => ({ lend: undefined, without: ["10.0.0.8/30"] }));
    await expect.poll(() => daemonFixture.word(slice), patience).not.toHaveProperty("gives");
    expect(size(node)).toBe(12n);
    await daemonFixture.grant("10.0.0.8/30");
    await expect.poll(() => size(node), patience).toBe(16n);
  });

  it("a node that is short says so at once, and who waits is woken by more", async () => {
    const node = await daemonFixture.start();
    await daemonFixture.grant("10.0.0.0/32");
    await expect.poll(() => size(node), patience).toBe(1n);
    await expect.poll(() => daemonFixture.word("10.0.0.0/32"), patience).toMatchObject({ short: 0 });
    node.keeper.short(use);
    const grown = node.keeper.changed(use, AbortSignal.timeout(20_000));
    await expect.poll(() => daemonFixture.word("10.0.0.0/32"), patience).toMatchObject({ short: 1, free: 0 });
    await daemonFixture.change("10.0.0.0/32", () => ({ exhausted: "the range is used up" }));
    await expect.poll(() => node.keeper.why(use), patience).toBe("the range is used up");
    await daemonFixture.grant("10.0.0.16/28");
    await grown;
    expect(size(node)).toBe(17n);
    await expect.poll(() => daemonFixture.word("10.0.0.0/32"), patience).toMatchObject({ short: 0 });
  });
});

it("addresses of pods that are gone are freed, others are not", async () => {
  await daemonFixture.pod("stays");
  await daemonFixture.pod("ended", { phase: "Succeeded" });
  const uidOf = async (name: string) =>
    (await daemonFixture.client.get(pods, { namespace: "default", name })).metadata.uid!;
  const node = await daemonFixture.start();
  await daemonFixture.grant(slice);
  await expect.poll(() => size(node), patience).toBe(16n);
  const owners = [
    { ...podOwner("stays"), uid: await uidOf("stays") },
    { ...podOwner("ended"), uid: await uidOf("ended") },
    podOwner("gone"),
    { ...podOwner("container"), namespace: "node.n1" },
  ];
  for (const [at, owner] of owners.entries())
    await node.journal.take({ domain, address: parseAddress(`10.0.0.${at}`), owner });
  await expect.poll(() => node.orphans(), patience).toBe(2);
  expect(heldBy(node)).toEqual(["10.0.0.0", "10.0.0.3"]);
});

it("a journal that lost lines hands out nothing until it has read its slices again", async () => {
  const first = await daemonFixture.start();
  await daemonFixture.grant(slice);
  await expect.poll(() => size(first), patience).toBe(16n);
  for (const each of [1, 2, 3]) await take(first, `10.0.0.${each}`, `p${each}`);
  await expect.poll(async () => Object.keys(await daemonFixture.entries(slice)), patience).toEqual(["1", "2", "3"]);
  await first.stop();
  damageLine(daemonFixture.folder, "10.0.0.2");
  const second = await daemonFixture.start({
    transport: () => Promise.reject(new NotSentError("the test cut the line")),
  });
  await expect.poll(() => second.keeper.figures.isAway, patience).toBe(true);
  expect(second.keeper.mayHandOut()).toContain("damaged");
  await expect(take(second, "10.0.0.2", "other")).rejects.toThrow("damaged");
  await second.stop();
  const third = await daemonFixture.start();
  await expect.poll(() => third.keeper.mayHandOut(), patience).toBe("");
  expect(heldBy(third)).toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  expect(await take(third, "10.0.0.2", "other")).toBe("held");
});

it("a journal that lost lines finds by their label the slices that its Lease has no room to name", async () => {
  const first = await daemonFixture.start();
  await daemonFixture.grant("10.0.0.16/28");
  await daemonFixture.grant(slice);
  await expect.poll(() => size(first), patience).toBe(32n);
  await take(first, "10.0.0.2", "a");
  await expect.poll(() => daemonFixture.entries(slice), patience).toEqual({ "2": "default/a" });
  await first.stop();
  damageLine(daemonFixture.folder, "10.0.0.0/28");
  const text = JSON.stringify({ grants: { [keyOfSlice("10.0.0.16/28")]: "1.1" }, more: 1 });
  const body = { metadata: { annotations: { [slicesAnnotation]: text } } };
  await daemonFixture.client.patch(leases, { namespace, name: nodeLeaseName("n1") }, { type: "merge", body });
  const second = await daemonFixture.start();
  expect([second.journal.damaged, second.journal.grants().length]).toEqual([1, 1]);
  await expect.poll(() => second.keeper.mayHandOut(), patience).toBe("");
  expect([size(second), heldBy(second)]).toEqual([32n, ["10.0.0.2"]]);
});

it.each([
  ["a piece that is given up", { lend: { ask: 1, addresses: 4 } }, "gives"],
  ["a seal", { phase: "returning" }, "sealed"],
] as const)("%s is on the disk before it is on the object", async (_, wish, said) => {
  const { disk, hold } = slowDisk();
  const node = await daemonFixture.start({ disk });
  await daemonFixture.grant(slice);
  await daemonFixture.grant("10.0.0.16/28");
  await expect.poll(() => daemonFixture.word("10.0.0.16/28"), patience).toMatchObject({ free: 16 });
  await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ free: 16 });
  const words = async () => (await daemonFixture.word(slice)) as unknown as Record<string, unknown>;
  const release = hold(1);
  try {
    await daemonFixture.change(slice, () => wish);
    const decided = () => node.journal.grant(keyOfSlice(slice)) as unknown as Record<string, unknown>;
    // What the controller wrote is on the disk, and what the node makes of it is decided and not yet there.
    await expect.poll(() => Boolean(decided()[said]), patience).toBe(true);
    // The other slice is shown meanwhile: a word needs no disk, and this one would have been written by now too.
    node.keeper.short(use);
    await expect.poll(() => daemonFixture.word("10.0.0.16/28"), patience).toMatchObject({ free: 0 });
    expect((await words())[said] ?? false).toBe(false);
  } finally {
    release();
  }
  await expect.poll(async () => Boolean((await words())[said]), patience).toBe(true);
});

it("a seal whose sync failed is not on the object: a power cut may take it back", async () => {
  const { disk, dieAfter } = dyingDisk();
  const node = await daemonFixture.start({ disk });
  await daemonFixture.grant(slice);
  await daemonFixture.grant("10.0.0.16/28");
  await expect.poll(() => daemonFixture.word("10.0.0.16/28"), patience).toMatchObject({ free: 16 });
  await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ free: 16 });
  dieAfter(1);
  await daemonFixture.change(slice, () => ({ phase: "returning" }));
  await expect.poll(() => node.journal.stats.broken, patience).toContain("EIO");
  await expect.poll(() => node.journal.grant(keyOfSlice(slice))?.sealed, patience).toBe(true);
  // The other slice is shown twice meanwhile: this one would have been written by now too.
  for (const free of [0, 16]) {
    if (free === 0) node.keeper.short(use);
    await expect.poll(() => daemonFixture.word("10.0.0.16/28"), { timeout: 20_000 }).toMatchObject({ free });
  }
  expect(await daemonFixture.word(slice)).toMatchObject({ sealed: false });
  dieAfter(Number.POSITIVE_INFINITY);
  await expect.poll(() => daemonFixture.word(slice), { timeout: 20_000 }).toMatchObject({ sealed: true });
});

it("a grant that is just being written does not stop what is handed out of the others", async () => {
  const { disk, hold } = slowDisk();
  const node = await daemonFixture.start({ disk });
  await daemonFixture.grant(slice);
  await expect.poll(() => size(node), patience).toBe(16n);
  const release = hold(0);
  try {
    await daemonFixture.grant("10.0.0.16/28");
    await expect.poll(() => node.journal.grants().length, patience).toBe(2);
    expect([node.keeper.mayHandOut(), node.keeper.isKnown(), size(node)]).toEqual(["", true, 16n]);
  } finally {
    release();
  }
  await expect.poll(() => size(node), patience).toBe(32n);
});
