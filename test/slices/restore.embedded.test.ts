// The API server is restored from a copy that knows less than the nodes' journals: a range not cut yet, a node that had
// not joined. The leader gives nothing of a journal to others, and takes it up again. The controller is not stopped.
import { expect, it } from "vitest";

import { journalAnnotation, nodeLeaseName } from "../../src/api/slices/node-lease.ts";
import { configMaps, leases, nodes, nodeSlicePools, reservations } from "../../src/cluster/resources.ts";
import { readSlicedRanges } from "../../src/cluster/sliced-ranges.ts";
import { controllerLease, fetchState, restoredKey, stateName } from "../../src/cluster/state.ts";
import { type Fixture, moment, systemNamespace } from "./fixture.ts";
import { patient, restorableServer } from "./restorable-server.ts";
import { added, addMany, eventsOf } from "./steps.ts";

let fixture: Fixture;
const { snapshot, restore, restoreLed } = restorableServer(
  (each) => (fixture = each),
  // Long enough for a busy machine to let every daemon notice.
  { restoreSettleMs: 160_000 },
);

const sliced = async () => readSlicedRanges(await fetchState(fixture.admin, { namespace: systemNamespace }))?.ranges;
const leaseOf = (node: string) =>
  fixture.admin.lookUp(leases, { namespace: systemNamespace, name: nodeLeaseName(node) });
/** What the node's Lease says that its journal has. */
const said = async (node: string) => (await leaseOf(node))?.metadata.annotations?.[journalAnnotation] ?? "";
const renewed = async (node: string) => (await leaseOf(node))?.spec?.renewTime;
const noted = async () => (await fetchState(fixture.admin, { namespace: systemNamespace }))?.data?.[restoredKey];

it(
  "from before the range was cut: what journals have of it is not shared, and comes back when it is moved",
  { timeout: 400_000 },
  async () => {
    const range = { range: "10.120.0.0/24", network_name: "cut" };
    let net = await fixture.define("cut", range);
    for (const name of ["a", "b", "c"]) await fixture.join(name);
    await fixture.ledAlone();
    for (const node of ["a", "b", "c"]) await added(fixture, net, node);
    await fixture.settle();
    snapshot();
    net = await fixture.redefine(net, { ...range, node_slice_size: "/28" });
    await expect.poll(async () => (await sliced())?.[0]?.phase, patient).toBe("open");
    for (const node of ["a", "b"]) await addMany(fixture, net, node, 4);
    await restoreLed();
    // The copy's definition shares the range.
    net = { ...net, config: { ...net.config, ipam: { type: "holdfast", ...range } } };
    await Promise.all(["a", "b", "c", "c", "c"].map((node) => addMany(fixture, net, node, 3)));
    expect(await fixture.dangers()).toEqual([]);
    await expect.poll(sliced, patient).toEqual([]);
    await addMany(fixture, net, "c", 20);
    expect(await fixture.dangers()).toEqual([]);
  },
);

it(
  "from before a node joined: its block is nobody's until it has spoken, and is its own again then",
  { timeout: 400_000 },
  async () => {
    const net = await fixture.define("cut", { range: "10.121.0.0/26", node_slice_size: "/28", network_name: "cut" });
    await fixture.join("a");
    fixture.lead();
    await added(fixture, net, "a");
    await fixture.settle();
    // Pods that the server has forgotten are ended by their kubelet.
    const guests = [await fixture.pod("m"), await fixture.pod("m")];
    snapshot();
    const { line } = await fixture.join("m");
    for (const guest of guests) await fixture.add(guest, net);
    await fixture.settle();
    // Nothing but what it wrote on its Lease tells a node that the server is an older one: no range has changed since.
    const before = await renewed("a");
    await expect.poll(() => renewed("a"), patient).not.toBe(before);
    // It comes back after the leader has begun.
    line.cut();
    await restoreLed(() => fixture.join("b"));
    const waits = fixture.tryAdd(await fixture.pod("b"), net);
    await moment();
    expect(await fixture.dangers()).toEqual([]);
    line.heal();
    await fixture.admin.create(nodes, { metadata: { name: "m" } });
    await expect.poll(() => said("m"), patient).toContain("10.121.0.");
    expect(await waits).toMatchObject({ status: 1 });
    fixture.clock.shiftMs += 120_000;
    for (const node of ["b", "m", "a"]) await addMany(fixture, net, node, 3);
    expect(await fixture.dangers()).toEqual([]);
  },
);

it(
  "a leader that begins later waits for the same node: one that sleeps, and has a block that the copy does not know",
  { timeout: 400_000 },
  async () => {
    const late = { range: "10.123.0.0/27", node_slice_size: "/28", network_name: "late" };
    await fixture.define("cut", { range: "10.121.0.0/26", node_slice_size: "/28", network_name: "cut" });
    for (const name of ["a", "m"]) await fixture.join(name);
    fixture.lead();
    await fixture.settle();
    const guests = [await fixture.pod("m"), await fixture.pod("m"), await fixture.pod("a")];
    snapshot();
    let net = await fixture.define("late", late);
    for (const guest of guests) await fixture.add(guest, net);
    await fixture.settle();
    fixture.node("m").line.cut();
    await restoreLed(async () => void (net = await fixture.define("late", late)));
    await expect.poll(noted, patient).toBeDefined();
    // No version is behind any more, and nobody says it: the next leader has nothing but the note.
    fixture.clock.shiftMs += 120_000;
    await expect.poll(sliced, patient).toHaveLength(2);
    await expect.poll(() => said("a"), patient).not.toContain("restored");
    await fixture.killLeaders();
    fixture.lead();
    await fixture.join("b");
    await moment();
    fixture.clock.shiftMs += 120_000;
    expect(await fixture.tryAdd(await fixture.pod("b"), net)).toMatchObject({ status: 1 });
    expect(await noted()).toBeDefined();
    expect(await fixture.dangers()).toEqual([]);
    fixture.node("m").line.heal();
    await expect.poll(noted, patient).toBeUndefined();
    for (const node of ["m", "a"]) await addMany(fixture, net, node, 3);
    expect(await fixture.dangers()).toEqual([]);
  },
);

it(
  "a controller that lives through it notes it and ends: what it followed is of another history",
  { timeout: 400_000 },
  async () => {
    await fixture.define("cut", { range: "10.121.0.0/26", node_slice_size: "/28", network_name: "cut" });
    const elected = fixture.lead({ isElected: true });
    const at = { namespace: systemNamespace, name: controllerLease };
    const renewals = async () => (await fixture.admin.lookUp(leases, at))?.spec?.renewTime;
    await expect.poll(sliced, patient).toHaveLength(1);
    snapshot();
    const before = await renewals();
    await expect.poll(renewals, patient).not.toBe(before);
    restore();
    await expect(elected.ended).rejects.toThrow("was restored from an older copy");
    expect(await noted()).toBeDefined();
    await elected.kill();
  },
);

it(
  "an operator who deletes the note is believed: the leader that waits does not write it again",
  { timeout: 400_000 },
  async () => {
    const net = await fixture.define("cut", { range: "10.121.0.0/26", node_slice_size: "/28", network_name: "cut" });
    for (const name of ["a", "m"]) await fixture.join(name);
    await fixture.ledAlone();
    for (const node of ["a", "m"]) await added(fixture, net, node);
    fixture.node("m").line.cut();
    const note = (value: string | null) => {
      const body = { data: { [restoredKey]: value } };
      return fixture.admin.patch(configMaps, { namespace: systemNamespace, name: stateName }, { type: "merge", body });
    };
    await note("2026-11-16T00:00:00Z");
    const obstacle = async () => JSON.stringify((await fixture.admin.list(nodeSlicePools)).items);
    await fixture.join("b");
    fixture.clock.shiftMs += 120_000;
    await expect.poll(obstacle, patient).toContain("was restored, and node m has not said");
    await note(null);
    await expect.poll(obstacle, patient).not.toContain("was restored");
    expect(await noted()).toBeUndefined();
  },
);

it(
  "a lost hold of a shared range that was cut since is made again, and told as a conflict where a slice has given it",
  { timeout: 300_000 },
  async () => {
    const range = { range: "10.122.0.0/24", network_name: "cut" };
    let net = await fixture.define("cut", range);
    for (const name of ["a", "z"]) await fixture.join(name);
    await fixture.ledAlone();
    const old = await fixture.pod("z");
    const [address = ""] = await fixture.add(old, net);
    net = await fixture.redefine(net, { ...range, node_slice_size: "/28" });
    // The first by its name has the lowest slice, with the address in it.
    await addMany(fixture, net, "a", 2);
    const { line } = fixture.node("z");
    line.cut();
    const { items } = await fixture.admin.list(reservations, { namespace: systemNamespace });
    const lost = items.find(({ spec }) => JSON.stringify(spec).includes(old.name))!;
    await fixture.admin.delete(reservations, { namespace: systemNamespace, name: lost.metadata.name! });
    const given = async () => addMany(fixture, net, "a", 1);
    await expect.poll(async () => (await given())[0], patient).toBe(address);
    line.heal();
    const told = async () => (await eventsOf(fixture, "default", old.name)).join("\n");
    await expect.poll(told, patient).toContain("AddressConflict");
  },
);
