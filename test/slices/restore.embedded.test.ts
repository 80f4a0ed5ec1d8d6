// The API server is restored from a copy that knows less than the nodes' journals: of a range that was not cut yet, of a node that had not joined.
// Whoever leads gives nothing of what a journal has to another, and takes it up again. Nobody stops the controller for it.
import { expect, it } from "vitest";

import { journalAnnotation, nodeLeaseName } from "../../src/api/slices/node-lease.ts";
import { configMaps, leases, nodes, nodeSlicePools, reservations } from "../../src/cluster/resources.ts";
import { readSlicedRanges } from "../../src/cluster/sliced-ranges.ts";
import { controllerLease, fetchState, restoredKey, stateName } from "../../src/cluster/state.ts";
import { lookUp } from "../../src/kube/look-up.ts";
import { type Fleet, moment, systemNamespace } from "./fleet.ts";
import { patient, restorableServer } from "./restorable-server.ts";
import { added, addMany, eventsOf } from "./scenes.ts";

let fleet: Fleet;
// Long enough for a busy machine to let every daemon notice.
const { snapshot, restore } = restorableServer((each) => (fleet = each), { restoreSettleMs: 160_000 });

const sliced = async () => readSlicedRanges(await fetchState(fleet.admin, { namespace: systemNamespace }))?.ranges;
const leaseOf = (node: string) =>
  lookUp(fleet.admin, leases, { namespace: systemNamespace, name: nodeLeaseName(node) });
/** What the node's Lease says that its journal has. */
const said = async (node: string) => (await leaseOf(node))?.metadata.annotations?.[journalAnnotation] ?? "";
const renewed = async (node: string) => (await leaseOf(node))?.spec?.renewTime;
const noted = async () => (await fetchState(fleet.admin, { namespace: systemNamespace }))?.data?.[restoredKey];

it(
  "from before the range was cut: what journals have of it is not shared, and comes back when it is moved",
  { timeout: 400_000 },
  async () => {
    const range = { range: "10.120.0.0/24", network_name: "cut" };
    let net = await fleet.define("cut", range);
    for (const name of ["a", "b", "c"]) await fleet.join(name);
    await fleet.ledAlone();
    for (const node of ["a", "b", "c"]) await added(fleet, net, node);
    await fleet.settle();
    snapshot();
    net = await fleet.redefine(net, { ...range, node_slice_size: "/28" });
    await expect.poll(async () => (await sliced())?.[0]?.phase, patient).toBe("open");
    for (const node of ["a", "b"]) await addMany(fleet, net, node, 4);
    await fleet.killLeaders();
    restore();
    fleet.lead();
    // The copy's definition shares the range.
    net = { ...net, config: { ...net.config, ipam: { type: "holdfast", ...range } } };
    await Promise.all(["a", "b", "c", "c", "c"].map((node) => addMany(fleet, net, node, 3)));
    expect(await fleet.dangers()).toEqual([]);
    await expect.poll(sliced, patient).toEqual([]);
    await addMany(fleet, net, "c", 20);
    expect(await fleet.dangers()).toEqual([]);
  },
);

it(
  "from before a node joined: its block is nobody's until it has spoken, and is its own again then",
  { timeout: 400_000 },
  async () => {
    const net = await fleet.define("cut", { range: "10.121.0.0/26", node_slice_size: "/28", network_name: "cut" });
    await fleet.join("a");
    fleet.lead();
    await added(fleet, net, "a");
    await fleet.settle();
    // Pods that the server has forgotten are ended by their kubelet.
    const guests = [await fleet.pod("m"), await fleet.pod("m")];
    snapshot();
    const { line } = await fleet.join("m");
    for (const guest of guests) await fleet.add(guest, net);
    await fleet.settle();
    // Nothing but what it wrote on its Lease tells a node that the server is an older one: no range has changed since.
    const before = await renewed("a");
    await expect.poll(() => renewed("a"), patient).not.toBe(before);
    await fleet.killLeaders();
    // It comes back after the leader has begun.
    line.cut();
    restore();
    await fleet.join("b");
    fleet.lead();
    const waits = fleet.tryAdd(await fleet.pod("b"), net);
    await moment();
    expect(await fleet.dangers()).toEqual([]);
    line.heal();
    await fleet.admin.create(nodes, { metadata: { name: "m" } });
    await expect.poll(() => said("m"), patient).toContain("10.121.0.");
    expect(await waits).toMatchObject({ status: 1 });
    fleet.clock.shiftMs += 120_000;
    for (const node of ["b", "m", "a"]) await addMany(fleet, net, node, 3);
    expect(await fleet.dangers()).toEqual([]);
  },
);

it(
  "a leader that begins later waits for the same node: one that sleeps, and has a block that the copy does not know",
  { timeout: 400_000 },
  async () => {
    const late = { range: "10.123.0.0/27", node_slice_size: "/28", network_name: "late" };
    await fleet.define("cut", { range: "10.121.0.0/26", node_slice_size: "/28", network_name: "cut" });
    for (const name of ["a", "m"]) await fleet.join(name);
    fleet.lead();
    await fleet.settle();
    const guests = [await fleet.pod("m"), await fleet.pod("m"), await fleet.pod("a")];
    snapshot();
    let net = await fleet.define("late", late);
    for (const guest of guests) await fleet.add(guest, net);
    await fleet.settle();
    await fleet.killLeaders();
    fleet.node("m").line.cut();
    restore();
    net = await fleet.define("late", late);
    fleet.lead();
    await expect.poll(noted, patient).toBeDefined();
    // No version is behind any more, and nobody says it: the next leader has nothing but the note.
    fleet.clock.shiftMs += 120_000;
    await expect.poll(sliced, patient).toHaveLength(2);
    await expect.poll(() => said("a"), patient).not.toContain("restored");
    await fleet.killLeaders();
    fleet.lead();
    await fleet.join("b");
    await moment();
    fleet.clock.shiftMs += 120_000;
    expect(await fleet.tryAdd(await fleet.pod("b"), net)).toMatchObject({ status: 1 });
    expect(await noted()).toBeDefined();
    expect(await fleet.dangers()).toEqual([]);
    fleet.node("m").line.heal();
    await expect.poll(noted, patient).toBeUndefined();
    for (const node of ["m", "a"]) await addMany(fleet, net, node, 3);
    expect(await fleet.dangers()).toEqual([]);
  },
);

it(
  "a controller that lives through it notes it and ends: what it followed is of another history",
  { timeout: 400_000 },
  async () => {
    await fleet.define("cut", { range: "10.121.0.0/26", node_slice_size: "/28", network_name: "cut" });
    const elected = fleet.lead({ isElected: true });
    const at = { namespace: systemNamespace, name: controllerLease };
    const renewals = async () => (await lookUp(fleet.admin, leases, at))?.spec?.renewTime;
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
    const net = await fleet.define("cut", { range: "10.121.0.0/26", node_slice_size: "/28", network_name: "cut" });
    for (const name of ["a", "m"]) await fleet.join(name);
    await fleet.ledAlone();
    for (const node of ["a", "m"]) await added(fleet, net, node);
    fleet.node("m").line.cut();
    const note = (value: string | null) => {
      const body = { data: { [restoredKey]: value } };
      return fleet.admin.patch(configMaps, { namespace: systemNamespace, name: stateName }, { type: "merge", body });
    };
    await note("2026-11-16T00:00:00Z");
    const obstacle = async () => JSON.stringify((await fleet.admin.list(nodeSlicePools)).items);
    await fleet.join("b");
    fleet.clock.shiftMs += 120_000;
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
    let net = await fleet.define("cut", range);
    for (const name of ["a", "z"]) await fleet.join(name);
    await fleet.ledAlone();
    const old = await fleet.pod("z");
    const [address = ""] = await fleet.add(old, net);
    net = await fleet.redefine(net, { ...range, node_slice_size: "/28" });
    // The first by its name has the lowest slice, with the address in it.
    await addMany(fleet, net, "a", 2);
    const { line } = fleet.node("z");
    line.cut();
    const { items } = await fleet.admin.list(reservations, { namespace: systemNamespace });
    const lost = items.find(({ spec }) => JSON.stringify(spec).includes(old.name))!;
    await fleet.admin.delete(reservations, { namespace: systemNamespace, name: lost.metadata.name! });
    const given = async () => addMany(fleet, net, "a", 1);
    await expect.poll(async () => (await given())[0], patient).toBe(address);
    line.heal();
    const told = async () => (await eventsOf(fleet, "default", old.name)).join("\n");
    await expect.poll(told, patient).toContain("AddressConflict");
  },
);
