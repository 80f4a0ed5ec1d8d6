// A VM's address under the leader, on the embedded API with its garbage collection: from the first start to the end.
import { setTimeout as pause } from "node:timers/promises";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../src/api/claims/claim-marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { forget, plug, unplug } from "./kubevirt/hotplug.ts";
import { setOutOfService, setReady } from "./kubevirt/nodes.ts";
import { shop, Fixture } from "./leader-fixture.ts";

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.define("blue");
});
afterEach(() => fixture.close());

const address = () => [...fixture.node.given.values()][0];

describe("a VM that comes and goes", () => {
  it("gets a claim that says whose it is, before its first pod asks", async () => {
    const leader = fixture.lead();
    // It has seen what was there before: what comes now is measured.
    await fixture.machine("vm0");
    await fixture.claimIs("vm0.blue", "made", () => true);
    const nics = [{ name: "blue", definition: "blue", mac: "02:11:22:33:44:55" }];
    const machine = await fixture.machine("vm1", { nics });
    const { metadata, spec } = await fixture.claimIs("vm1.blue", "made", () => true);
    expect(spec.network).toBe("blue");
    expect(metadata.finalizers).toEqual([marks.claimFinalizer]);
    expect(metadata.annotations).toMatchObject({
      [marks.claimOwnerAnnotation]: machine.vmUid,
      [marks.claimNicAnnotation]: "blue",
    });
    expect(metadata.labels).toMatchObject({
      [marks.managedLabelName]: "true",
      [marks.macLabelName]: "02-11-22-33-44-55",
    });
    expect(metadata.ownerReferences).toMatchObject([{ kind: "VirtualMachine", name: "vm1", uid: machine.vmUid }]);
    expect(await leader.counted("holdfast_claim_creation_seconds")).toBeGreaterThan(0);
  });

  it("keeps its address over stop and start, and loses it with the VM", async () => {
    const leader = fixture.lead();
    const machine = await fixture.started("vm1");
    const first = address();
    await fixture.claimIs("vm1.blue", "shows its address", ({ status }) => status?.ips[0] === `${first}/24`);
    await fixture.kubevirt.stop(machine);
    await fixture.booksAre(`${first} vm1.blue 0`);
    await fixture.claimIs("vm1.blue", "used by no pod", ({ status }) => status?.ownerPod?.name === undefined);
    await until(async () => (await leader.metric("holdfast_claims", { state: "RSVD" })) === 1, {
      what: "RSVD counted",
    });
    await fixture.kubevirt.start(machine);
    expect(address()).toBe(first);
    await fixture.kubevirt.delete(machine);
    await fixture.claimGoes("vm1.blue");
    await fixture.booksAre();
    await until(async () => (await leader.metric("holdfast_claims", { state: "BOUND" })) === 0, {
      what: "none counted",
    });
    expect(await leader.metric("holdfast_claim_steps_total", { kind: "release" })).toBe(1);
  });

  it("shares the address with the target of a migration, and drops the source when it has ended", async () => {
    fixture.lead();
    const machine = await fixture.started("vm1");
    const first = address();
    const migration = await fixture.kubevirt.migrate(machine);
    expect(await migration.handOver()).toBe(true);
    await fixture.booksAre(`${first} vm1.blue 2`);
    await migration.succeed();
    await fixture.booksAre(`${first} vm1.blue 1`);
    expect(new Set(fixture.node.given.values())).toEqual(new Set([first]));
  });

  it.each(["Background", "Foreground"] as const)(
    "is deleted in the %s: nothing is left, and nothing went early",
    async (policy) => {
      fixture.lead();
      const machine = await fixture.started("vm1");
      await fixture.kubevirt.delete(machine, policy);
      await fixture.claimGoes("vm1.blue");
      await fixture.booksAre();
    },
  );

  it("is deleted with orphans: the claim follows the VMI, and then the VM that adopts it", async () => {
    fixture.lead();
    const machine = await fixture.started("vm1");
    const first = address();
    const vmi = machine.instance!.uid;
    await fixture.kubevirt.delete(machine, "Orphan");
    const ownerIs = (uid: string | undefined) => (claim: kinds.StoredClaim) =>
      claim.metadata.annotations?.[marks.claimOwnerAnnotation] === uid &&
      claim.metadata.deletionTimestamp === undefined;
    const claim = await fixture.claimIs("vm1.blue", "the VMI's", ownerIs(vmi));
    expect(claim.metadata.ownerReferences).toMatchObject([{ kind: "VirtualMachineInstance", uid: vmi }]);
    await fixture.booksAre(`${first} vm1.blue 1`);
    const spec = { namespace: shop, name: "vm1", nics: [{ name: "blue", definition: "blue" }] };
    const adopter = await fixture.kubevirt.create(spec, machine);
    await fixture.claimIs("vm1.blue", "the new VM's", ownerIs(adopter.vmUid));
    await fixture.booksAre(`${first} vm1.blue 1`);
    await fixture.kubevirt.delete(adopter);
    await fixture.claimGoes("vm1.blue");
    await fixture.booksAre();
  });

  it("without a VM: the VMI owns it", async () => {
    fixture.lead();
    const machine = await fixture.kubevirt.createAlone({
      namespace: shop,
      name: "lone",
      nics: [{ name: "blue", definition: "blue" }],
    });
    const claim = await fixture.claimIs("lone.blue", "made", () => true);
    expect(claim.metadata.annotations?.[marks.claimOwnerAnnotation]).toBe(machine.instance!.uid);
    await fixture.kubevirt.delete(machine);
    await fixture.claimGoes("lone.blue");
    await fixture.booksAre();
  });
});

describe("NICs that come and go", () => {
  it("each has a claim of its own, and one that is unplugged keeps its address while the pod has it", async () => {
    fixture.lead();
    const machine = await fixture.started("vm1");
    const first = address();
    await plug(fixture.kubevirt, machine, { name: "second", definition: "blue" }, "in place");
    await fixture.claimIs("vm1.second", "made", () => true);
    await until(async () => (await fixture.books()).length === 2, { what: "two addresses" });
    const migration = await unplug(fixture.kubevirt, machine, "second", "by migration");
    expect((await fixture.books()).length).toBe(2);
    await migration!.handOver();
    await migration!.succeed();
    await forget(fixture.kubevirt, machine, "second");
    await fixture.claimGoes("vm1.second");
    await fixture.booksAre(`${first} vm1.blue 1`);
  });
});

describe("claims that others touch", () => {
  const remove = (name: string) => fixture.client.delete(kinds.ipamClaims, { namespace: shop, name });

  it("deleted under a VM that lives: it keeps finalizer and address, and people are told", async () => {
    fixture.lead();
    await fixture.started("vm1");
    const first = address();
    await remove("vm1.blue");
    await until(async () => (await fixture.events()).some((line) => line.startsWith("IPAMClaim vm1.blue ")), {
      what: "an event",
    });
    const claim = await fixture.claimIs(
      "vm1.blue",
      "deleting",
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    );
    expect(claim.metadata.finalizers).toContain(marks.claimFinalizer);
    await fixture.booksAre(`${first} vm1.blue 1`);
  });

  it("forced away under a VM that runs: a new one continues on the same address", async () => {
    fixture.lead();
    const machine = await fixture.started("vm1");
    const first = address();
    const { metadata } = await fixture.claimIs("vm1.blue", "made", () => true);
    await remove("vm1.blue");
    const at = { namespace: shop, name: "vm1.blue" };
    await fixture.client.patch(kinds.ipamClaims, at, { type: "merge", body: { metadata: { finalizers: null } } });
    await fixture.claimGoes("vm1.blue", metadata.uid);
    const anew = await fixture.claimIs("vm1.blue", "made anew", (claim) => claim.metadata.uid !== metadata.uid);
    await until(async () => (await fixture.held())[0]?.hold.owner.uid === anew.metadata.uid, {
      what: "the hold passed on",
    });
    expect(`${(await fixture.held())[0]!.hold.address}`).toBe(first);
    await fixture.kubevirt.restart(machine);
    expect(address()).toBe(first);
  });

  it("made by hand: kept while a pod uses it, and the user's delete frees it", async () => {
    fixture.lead();
    const at = { namespace: shop, name: "stake" };
    const made = await fixture.client.create(kinds.ipamClaims, {
      metadata: at,
      spec: { network: "blue", interface: "" },
    });
    const networks = JSON.stringify([{ name: "blue", "ipam-claim-reference": "stake" }]);
    const pod = await fixture.client.create(kinds.pods, {
      metadata: { namespace: shop, name: "p1", annotations: { "k8s.v1.cni.cncf.io/networks": networks } },
      spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] },
    } as kinds.Pod);
    await fixture.node.hold(made, { uid: pod.metadata.uid ?? "", name: "p1", node: "n1" });
    await fixture.claimIs(
      "stake",
      "kept",
      ({ metadata }) => metadata.finalizers?.includes(marks.claimFinalizer) === true,
    );
    await remove("stake");
    await fixture.claimIs("stake", "deleting", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await fixture.client.delete(kinds.pods, { namespace: shop, name: "p1" }, { gracePeriodSeconds: 0 });
    await fixture.claimGoes("stake");
    await fixture.booksAre();
  });
});

describe("nodes that fall silent", () => {
  it("keep what their pods used, until somebody vouches that nothing runs there and they are silent", async () => {
    const leader = fixture.lead();
    const machine = await fixture.started("vm1");
    await setReady(fixture.client, "n1", "Unknown");
    await fixture.kubevirt.delete(machine);
    // The pod's object is gone and its claim too; the guest may run on. Whoever comes next is served meanwhile.
    await fixture.claimGoes("vm1.blue");
    const other = await fixture.started("vm2");
    await fixture.kubevirt.delete(other);
    await fixture.claimGoes("vm2.blue");
    expect((await fixture.books()).map((line) => line.slice(line.indexOf(" ") + 1))).toEqual([
      "vm1.blue 1",
      "vm2.blue 1",
    ]);
    const before = await fixture.books();
    await setOutOfService(fixture.client, "n1", true);
    await pause(1000);
    expect(await fixture.books()).toEqual(before);
    await leader.stop();
    fixture.lead({ fencing: { silentMs: 500 } });
    await fixture.booksAre();
  });
});
