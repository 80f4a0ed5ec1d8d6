// How VMs end on real nodes, and what becomes of their addresses: deleted in the three ways with the real garbage
// collection, made anew under the same name, a launcher that is force-deleted while its sandbox lives on, a controller
// that is dead meanwhile; and a claim that a user made by hand for a plain pod.
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";

import { claims } from "../claims/claim-objects.ts";
import { remove } from "../claims/kubevirt/edit.ts";
import { createPod, refusalOf, removePod, runningPod } from "../lab/holdfast/networks.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { blue, ClaimFixture, namespace, ports, statusOf, storyMs } from "./claim-fixture.ts";
import { ipsOf } from "./slice-fixture.ts";

let fixture: ClaimFixture;
beforeAll(async () => {
  fixture = await ClaimFixture.open();
}, coldStartTimeoutMs);
afterAll(() => fixture?.close());
beforeEach(() => onTestFailed(() => console.error(fixture.holdfast.lastWords())));

const finalizer = "holdfast.io/persistent-ip";

test.for(["Background", "Foreground"] as const)(
  "a VM that runs is deleted in the %s: held while its pod lives, then released, and not for who comes next under its name",
  { timeout: storyMs },
  async (policy) => {
    const { kubevirt, kubelet } = fixture;
    const name = policy.toLowerCase();
    const machine = await fixture.machine(name);
    const address = await fixture.start(machine, "node1");
    const before = await fixture.claimIs(`${name}.blue`, "made");
    const launcher = machine.instance!.active;
    await kubelet.linger(launcher);
    const deleting = kubevirt.delete(machine, policy);
    // The guest takes its time to shut down: nothing is free before.
    await fixture.podIs(launcher, "told to end", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    if (policy === "Foreground")
      await fixture.claimIs(`${name}.blue`, "deleting", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(await fixture.hold(address)).toMatchObject({ owner: { kind: "claim", uid: before.metadata.uid } });
    await fixture.kernelsAre(address, "node1");
    await kubelet.bury(launcher);
    await deleting;
    await fixture.claimGoes(`${name}.blue`);
    await fixture.released(address);
    await fixture.kernelsAre(address);

    const again = await fixture.machine(name);
    expect(await fixture.start(again, "node1")).not.toBe(address);
    const after = await fixture.claimIs(`${name}.blue`, "made anew");
    expect(after.metadata.uid).not.toBe(before.metadata.uid);
    expect(after.metadata.ownerReferences).toMatchObject([{ uid: again.vmUid }]);
    await kubevirt.delete(again, policy);
    await fixture.claimGoes(`${name}.blue`);
  },
);

test(
  "a VM is deleted and leaves its VMI: the pod keeps the address, and a VM that adopts it has it",
  { timeout: storyMs },
  async () => {
    const { kubevirt } = fixture;
    const machine = await fixture.machine("orphan");
    const address = await fixture.start(machine, "node2");
    const launcher = machine.instance!.active;
    const vmi = machine.instance!.uid;
    const { uid } = (await fixture.claimIs("orphan.blue", "made")).metadata;
    await kubevirt.delete(machine, "Orphan");
    const isOf = (owner: string | undefined) => (claim: { metadata: { ownerReferences?: { uid: string }[] } }) =>
      claim.metadata.ownerReferences?.[0]?.uid === owner;
    const orphaned = await fixture.claimIs("orphan.blue", "the VMI's", isOf(vmi));
    expect(orphaned.metadata).toMatchObject({ uid, finalizers: [finalizer] });
    const adopter = await kubevirt.create({ namespace, name: "orphan", nics: [blue] }, machine);
    await fixture.claimIs("orphan.blue", "the new VM's", isOf(adopter.vmUid));
    await fixture.usersAre(address, "orphan.blue", launcher);
    expect(await fixture.inside(launcher, "ip", "-o", "addr", "show", "dev", ports.blue)).toContain(` ${address}/24 `);
    await kubevirt.stop(adopter);
    expect(await fixture.start(adopter, "node3")).toBe(address);
    await kubevirt.delete(adopter);
    await fixture.claimGoes("orphan.blue");
    await fixture.released(address);
  },
);

test(
  "a launcher is force-deleted: the next one on the same node has the address before the old sandbox's DEL",
  { timeout: storyMs },
  async () => {
    const { kubevirt, kubelet } = fixture;
    const machine = await fixture.machine("forced");
    const address = await fixture.start(machine, "node1");
    const old = machine.instance!.active;
    const [oldSandbox] = await fixture.kernels(address);
    await kubelet.vanish(old);
    fixture.nextNode = "node1";
    expect(await kubevirt.crash(machine)).toBe(true);
    const launcher = machine.instance!.active;
    expect(launcher.name).not.toBe(old.name);
    expect(fixture.addressOf(launcher)).toBe(address);
    // Both are in the kernel: no DEL has come yet.
    const both = await fixture.kernels(address);
    expect(both).toHaveLength(2);
    expect(both).toContain(oldSandbox);
    await kubelet.bury(old);
    await fixture.kernelsAre(address, "node1");
    expect(await fixture.kernels(address)).not.toContain(oldSandbox);
    await fixture.usersAre(address, "forced.blue", launcher);
    expect(await fixture.inside(launcher, "ip", "-o", "addr", "show", "dev", ports.blue)).toContain(` ${address}/24 `);
    await kubevirt.delete(machine);
    await fixture.claimGoes("forced.blue");
  },
);

test(
  "the controller is dead: what has an address keeps it through stop, start and migration",
  { timeout: storyMs },
  async () => {
    const { kubevirt, holdfast } = fixture;
    const keeper = await fixture.machine("keeper");
    const kept = await fixture.start(keeper, "node1");
    const machine = await fixture.machine("reborn");
    const address = await fixture.start(machine, "node1");
    const { uid } = (await fixture.claimIs("reborn.blue", "made")).metadata;
    await holdfast.controller.kill();

    await kubevirt.stop(keeper);
    await fixture.kernelsAre(kept);
    expect(await fixture.start(keeper, "node2")).toBe(kept);
    const migration = await kubevirt.migrate(keeper, { node: "node3" });
    expect(await migration.handOver()).toBe(true);
    await fixture.kernelsAre(kept, "node2", "node3");

    // One is deleted and made anew: it waits for a claim of its own, and nobody has the old address meanwhile.
    await kubevirt.delete(machine);
    await fixture.kernelsAre(address);
    const again = await fixture.machine("reborn");
    const starting = fixture.start(again, "node1");
    await fixture.podIs(await fixture.launcherOf(again), "on its node", ({ spec }) => spec?.nodeName === "node1");
    expect(await fixture.hold(address)).toMatchObject({ owner: { kind: "claim", uid } });
    await holdfast.controller.start();
    expect(await starting).not.toBe(address);
    const claim = await fixture.claimIs("reborn.blue", "another", ({ metadata }) => metadata.uid !== uid);
    expect(claim.metadata.ownerReferences).toMatchObject([{ uid: again.vmUid }]);
    await fixture.released(address);

    // The leader finds the migration as it is, and takes out whoever has ended.
    await fixture.kernelsAre(kept, "node2", "node3");
    await migration.succeed();
    await fixture.usersAre(kept, "keeper.blue", migration.target);
    for (const each of [again, keeper]) await kubevirt.delete(each);
    for (const name of ["reborn.blue", "keeper.blue"]) await fixture.claimGoes(name);
  },
);

test("a claim made by hand and a plain pod, with kubectl alone", { timeout: storyMs }, async () => {
  const { lab } = fixture;
  const stake = {
    apiVersion: "k8s.cni.cncf.io/v1alpha1",
    kind: "IPAMClaim",
    metadata: { name: "stake", namespace },
    spec: { network: "blue-net", interface: "" },
  };
  await lab.kubectl(["create", "-f", "-"], { input: JSON.stringify(stake) });
  const networks = JSON.stringify([{ name: "blue", namespace, "ipam-claim-reference": "stake" }]);
  await createPod(lab, "staked", networks, { node: "node1" });
  const [address = ""] = ipsOf(await runningPod(lab, "staked"), "blue");
  const used = await fixture.claimIs("stake", "used", (claim) => statusOf(claim).ownerPod?.name === "staked");
  expect(statusOf(used)).toMatchObject({
    ips: [`${address}/24`],
    conditions: [{ type: "IPsAllocated", status: "True" }],
  });
  await fixture.claimIs(
    "stake",
    "kept while it is used",
    ({ metadata }) => metadata.finalizers?.includes(finalizer) ?? false,
  );
  await createPod(lab, "second", networks, { node: "node2" });
  expect(await refusalOf(lab, "second", "stake")).toContain("staked");
  expect(await fixture.event("stake", "InUse")).toContain("second");
  const described = await lab.kubectl(["describe", "ipamclaim", "stake"]);
  expect(described).toMatch(/Warning +InUse .*second/);
  expect(described).toMatch(/Reason: +InUse/);
  expect(described).toContain(`${address}/24`);

  await removePod(lab, "staked");
  expect(ipsOf(await runningPod(lab, "second"), "blue")).toEqual([address]);
  await fixture.kernelsAre(address, "node2");
  const seen = await lab.kubectl([
    "get",
    "ipamclaims",
    "stake",
    "--output=jsonpath={.status.ips[0]} {.status.ownerPod.name}",
  ]);
  expect(seen).toBe(`${address}/24 second`);
  await removePod(lab, "second");
  expect(await fixture.hold(address)).toMatchObject({ owner: { kind: "claim", name: "stake" } });
  await remove(fixture.client, claims, { namespace, name: "stake" });
  await fixture.claimGoes("stake");
  await fixture.released(address);
});

test("at the end nothing is held, and `check` finds nothing", { timeout: storyMs }, async () => {
  await fixture.nothingHeld();
  await fixture.holdfast.waitClean();
});
