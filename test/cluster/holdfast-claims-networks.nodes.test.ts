// Persistent addresses on real nodes beyond one plain range: both families, a network that is cut into slices of nodes,
// and the webhooks in front of the API server. One cluster for all of it; only KubeVirt is played.
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";

import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { parseAddress } from "../../src/net/address.ts";
import { contains, parseCidr } from "../../src/net/prefix.ts";
import { claims } from "../claims/claim-objects.ts";
import type { Launcher } from "../claims/kubevirt/launcher.ts";
import { interfaceNameOf } from "../claims/kubevirt/names.ts";
import { networksAnnotation, type Nic, pods } from "../claims/kubevirt/objects.ts";
import { createPod, defineNetwork, refusalOf, removePod, runningPod } from "../lab/holdfast/networks.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { ClaimFixture, namespace, statusOf, storyMs } from "./claim-fixture.ts";
import { ipsOf } from "./slice-fixture.ts";

const both: Nic = { name: "both", definition: "both" };
const sliced: Nic = { name: "sliced", definition: "sliced" };
/** The last /26 of its range. */
const floating = parseCidr("10.84.0.192/26").prefix;

let fixture: ClaimFixture;
beforeAll(async () => {
  fixture = await ClaimFixture.open({ webhooks: true });
  const ipRanges = [{ range: "10.83.0.0/24" }, { range: "fd83::/64" }];
  const cut = { range: "10.84.0.0/24", node_slice_size: "/28", floating_slice_size: "/26" };
  for (const [name, ipam] of Object.entries({ both: { ipRanges }, sliced: cut }))
    await defineNetwork(fixture.lab, { name, wire: "macvlan", ipam: { ...ipam, allowPersistentIPs: true } });
  await until(() => isAsked(), { what: "the API server to ask the webhooks", everyMs: 200 });
}, coldStartTimeoutMs);
afterAll(() => fixture?.close());
beforeEach(() => onTestFailed(() => console.error(fixture.holdfast.lastWords())));

/** A claim of no network is refused by nobody else. */
async function isAsked(): Promise<boolean> {
  const odd = { metadata: { namespace, name: "probe" }, spec: { network: "no such network", interface: "" } };
  return fixture.client.create(claims, odd, { dryRun: true }).then(
    () => false,
    (error: Error) => error.message.includes("no such network"),
  );
}

/** All that the pod was told for the VM's network. */
const addressesOf = ({ attached }: Launcher, { name }: Nic) =>
  attached.get(interfaceNameOf(name, 0, "hashed"))?.addresses ?? [];

/** The claim that the launcher's element names. */
async function referenceOf({ at }: Launcher): Promise<string | undefined> {
  const { metadata } = await fixture.client.get(pods, at);
  const elements = JSON.parse(metadata.annotations?.[networksAnnotation] ?? "[]") as Record<string, string>[];
  return elements[0]?.["ipam-claim-reference"];
}

test("both families: a VM keeps its IPv4 and its IPv6 address on another node", { timeout: storyMs }, async () => {
  const { kubevirt } = fixture;
  const machine = await fixture.machine("dual", [both]);
  await fixture.claimIs("dual.both", "made before the VM runs");
  fixture.nextNode = "node1";
  expect(await kubevirt.start(machine)).toBe(true);
  const first = addressesOf(machine.instance!.active, both);
  expect(first).toEqual([expect.stringMatching(/^10\.83\.0\.\d+$/), expect.stringMatching(/^fd83::/)]);
  const launcher = machine.instance!.active;
  const inside = await fixture.inside(
    launcher,
    "ip",
    "-o",
    "addr",
    "show",
    "dev",
    interfaceNameOf("both", 0, "hashed"),
  );
  for (const [index, length] of [24, 64].entries()) expect(inside).toContain(` ${first[index]}/${length} `);
  for (const address of first) {
    await fixture.kernelsAre(address, "node1");
    await fixture.usersAre(address, "dual.both", launcher);
  }
  // Other CNIs read nothing but the reference, which the webhook wrote.
  expect(await referenceOf(launcher)).toBe("dual.both");

  await kubevirt.stop(machine);
  for (const address of first) {
    await fixture.kernelsAre(address);
    await fixture.usersAre(address, "dual.both");
  }
  const beside = await fixture.machine("beside", [both]);
  fixture.nextNode = "node1";
  expect(await kubevirt.start(beside)).toBe(true);
  for (const address of addressesOf(beside.instance!.active, both)) expect(first).not.toContain(address);

  fixture.nextNode = "node2";
  expect(await kubevirt.start(machine)).toBe(true);
  expect(addressesOf(machine.instance!.active, both)).toEqual(first);
  for (const address of first) await fixture.kernelsAre(address, "node2");
  const shown = await fixture.claimIs(
    "dual.both",
    "the new pod's",
    (claim) => statusOf(claim).ownerPod?.name === machine.instance!.active.name,
  );
  expect(statusOf(shown).ips).toEqual([`${first[0]}/24`, `${first[1]}/64`]);
  for (const each of [machine, beside]) await kubevirt.delete(each);
  for (const name of ["dual.both", "beside.both"]) await fixture.claimGoes(name);
  for (const address of first) await fixture.released(address);
});

test(
  "a network in slices: the claim's address is of the part that belongs to no node, and moves with its VM",
  { timeout: storyMs },
  async () => {
    const { kubevirt, lab } = fixture;
    const machine = await fixture.machine("floats", [sliced]);
    fixture.nextNode = "node1";
    expect(await kubevirt.start(machine)).toBe(true);
    const [address = "", ...more] = addressesOf(machine.instance!.active, sliced);
    expect(more).toEqual([]);
    expect(contains(floating, parseAddress(address))).toBe(true);
    await fixture.usersAre(address, "floats.sliced", machine.instance!.active);
    // Who has no claim on the same network has an address of its node.
    await createPod(lab, "plain", "sliced", { node: "node1" });
    const [plain = ""] = ipsOf(await runningPod(lab, "plain"), "sliced");
    expect(plain).toMatch(/^10\.84\.0\./);
    expect(contains(floating, parseAddress(plain))).toBe(false);

    await kubevirt.stop(machine);
    await fixture.kernelsAre(address);
    fixture.nextNode = "node3";
    expect(await kubevirt.start(machine)).toBe(true);
    expect(addressesOf(machine.instance!.active, sliced)).toEqual([address]);
    await fixture.kernelsAre(address, "node3");
    const migration = await kubevirt.migrate(machine, { node: "node2" });
    expect(await migration.handOver()).toBe(true);
    await fixture.kernelsAre(address, "node2", "node3");
    await migration.succeed();
    await fixture.kernelsAre(address, "node2");
    await fixture.usersAre(address, "floats.sliced", migration.target);
    expect(await referenceOf(migration.target)).toBe("floats.sliced");
    await kubevirt.delete(machine);
    await fixture.claimGoes("floats.sliced");
    await fixture.released(address);
    await removePod(lab, "plain");
  },
);

test(
  "with the webhooks: nobody else gets a VM's claim, by pod, by deletion, or by its name",
  { timeout: storyMs },
  async () => {
    const { kubevirt, lab } = fixture;
    const machine = await fixture.machine("owner", [both]);
    fixture.nextNode = "node1";
    expect(await kubevirt.start(machine)).toBe(true);
    const [address = ""] = addressesOf(machine.instance!.active, both);
    const before = await fixture.claimIs("owner.both", "made");

    // A pod of nobody that names it.
    const networks = JSON.stringify([{ name: "both", namespace, "ipam-claim-reference": "owner.both" }]);
    await createPod(lab, "thief", networks, { node: "node2" });
    expect(await refusalOf(lab, "thief", "owner.both")).toContain("owner.both");
    await fixture.kernelsAre(address, "node1");
    await fixture.usersAre(address, "owner.both", machine.instance!.active);
    await removePod(lab, "thief");

    // Somebody who may edit claims, and does not know what hangs on this one.
    const rules = [
      { apiGroups: ["k8s.cni.cncf.io"], resources: ["ipamclaims"], verbs: ["get", "list", "create", "delete"] },
    ];
    const { kubeconfig } = await lab.clientFor({ name: "tenant", rules });
    await using tenant = connect(await loadKubeconfig({ path: kubeconfig }));
    const at = { namespace, name: "owner.both" };
    await expect(tenant.client.delete(claims, at)).rejects.toThrow(`VirtualMachine ${namespace}/owner`);
    await kubevirt.stop(machine);
    await expect(tenant.client.delete(claims, at)).rejects.toThrow(`VirtualMachine ${namespace}/owner`);
    expect((await fixture.claimIs("owner.both", "as it was")).metadata).toMatchObject({
      uid: before.metadata.uid,
      finalizers: ["holdfast.io/persistent-ip"],
    });
    const marked = { namespace, name: "forged", annotations: { "holdfast.io/claim-owner": machine.vmUid! } };
    const forged = { metadata: marked, spec: { network: "both", interface: "" } };
    await expect(tenant.client.create(claims, forged)).rejects.toThrow("holdfast.io/claim-owner");

    // A VM of the same name, made while the old one's claim is still there: another claim, another address.
    await kubevirt.delete(machine);
    const again = await fixture.machine("owner", [both]);
    fixture.nextNode = "node1";
    expect(await kubevirt.start(again)).toBe(true);
    expect(addressesOf(again.instance!.active, both)).not.toContain(address);
    const after = await fixture.claimIs(
      "owner.both",
      "another",
      ({ metadata }) => metadata.uid !== before.metadata.uid,
    );
    expect(after.metadata.ownerReferences).toMatchObject([{ uid: again.vmUid }]);
    await kubevirt.delete(again);
    await fixture.claimGoes("owner.both");
    await fixture.released(address);
  },
);

test("at the end nothing is held, and `check` finds nothing", { timeout: storyMs }, async () => {
  await fixture.nothingHeld();
  await fixture.holdfast.waitClean();
});
