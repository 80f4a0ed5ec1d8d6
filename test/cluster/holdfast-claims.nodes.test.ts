// A VM keeps its address on three real nodes: launcher pods of kubelet and containerd, ADD and DEL by the real shim,
// the kernels' view of sandboxes. Start, stop, another node, migrations, NICs that come and go; KubeVirt is played.
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";

import { forget, plug, unplug } from "../claims/kubevirt/hotplug.ts";
import { refusalOf } from "../lab/holdfast/networks.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { blue, ClaimFixture, green, ports, statusOf, storyMs } from "./claim-fixture.ts";

let fixture: ClaimFixture;
beforeAll(async () => {
  fixture = await ClaimFixture.open();
}, coldStartTimeoutMs);
afterAll(() => fixture?.close());
beforeEach(() => onTestFailed(() => console.error(fixture.holdfast.lastWords())));

const isAllocated = (claim: Parameters<typeof statusOf>[0]) =>
  statusOf(claim).conditions?.some(({ type, status }) => type === "IPsAllocated" && status === "True") ?? false;

test(
  "a VM is created and started: a claim, its addresses inside the pod, no default route and no DNS",
  { timeout: storyMs },
  async () => {
    const machine = await fixture.machine("first", [blue, green]);
    const made = await fixture.claimIs("first.blue", "made before the VM runs");
    expect(made["spec"]).toMatchObject({ network: "blue-net" });
    expect(made.metadata.ownerReferences).toMatchObject([
      { kind: "VirtualMachine", name: "first", uid: machine.vmUid },
    ]);
    const address = await fixture.start(machine, "node1");
    const launcher = machine.instance!.active;
    expect(address).toMatch(/^10\.81\.0\./);
    expect(await fixture.inside(launcher, "ip", "-o", "addr", "show", "dev", ports.blue)).toContain(` ${address}/24 `);
    const second = fixture.addressOf(launcher, ports.green);
    expect(Number(second.split(".")[3])).toBeGreaterThan(15); // excludeSubnets
    expect(await fixture.inside(launcher, "ip", "-o", "addr", "show", "dev", ports.green)).toContain(` ${second}/24 `);

    const routes = (await fixture.inside(launcher, "ip", "route")).trim().split("\n");
    expect(routes.filter((line) => line.startsWith("default"))).toEqual([expect.stringContaining("dev eth0")]);
    expect(
      routes
        .filter((line) => line.includes(ports.blue) || line.includes(ports.green))
        .map((line) => line.split(" ")[0]),
    ).toEqual(expect.arrayContaining(["10.81.0.0/24", "10.82.0.0/24"]));
    const pod = JSON.parse(await fixture.lab.kubectl(["get", "pod", launcher.name, "--output=json"])) as {
      metadata: { annotations: Record<string, string> };
    };
    const told = JSON.parse(pod.metadata.annotations["k8s.v1.cni.cncf.io/network-status"] ?? "[]") as {
      interface: string;
      dns: object;
    }[];
    for (const port of Object.values(ports)) expect(told.find((each) => each.interface === port)?.dns).toEqual({});

    await fixture.usersAre(address, "first.blue", launcher);
    await fixture.usersAre(second, "first.green", launcher);
    const shown = statusOf(await fixture.claimIs("first.blue", "shown as allocated", isAllocated));
    expect(shown).toMatchObject({
      ips: [`${address}/24`],
      ownerPod: { name: launcher.name },
      conditions: [{ type: "IPsAllocated", status: "True", reason: "SuccessfulAllocation" }],
    });
    await fixture.kubevirt.delete(machine);
  },
);

test(
  "stopped and started on another node: the same address, whoever came meanwhile",
  { timeout: storyMs },
  async () => {
    const machine = await fixture.machine("mover");
    const address = await fixture.start(machine, "node1");
    const { uid } = (await fixture.claimIs("mover.blue", "made")).metadata;
    await fixture.kubevirt.stop(machine);
    await fixture.kernelsAre(address);
    await fixture.usersAre(address, "mover.blue");
    const stopped = await fixture.claimIs("mover.blue", "of no pod", (claim) => statusOf(claim).ownerPod === undefined);
    expect(statusOf(stopped).ips).toEqual([`${address}/24`]);
    const other = await fixture.machine("passer-by");
    expect(await fixture.start(other, "node1")).not.toBe(address);
    expect(await fixture.start(machine, "node2")).toBe(address);
    await fixture.kernelsAre(address, "node2");
    await fixture.usersAre(address, "mover.blue", machine.instance!.active);
    expect((await fixture.claimIs("mover.blue", "the same")).metadata.uid).toBe(uid);
    for (const each of [machine, other]) await fixture.kubevirt.delete(each);
  },
);

test(
  "a live migration: one address in two pods on two nodes, a third refused, then one",
  { timeout: storyMs },
  async () => {
    const { kubevirt, lab } = fixture;
    const machine = await fixture.machine("traveller");
    const address = await fixture.start(machine, "node1");
    const source = machine.instance!.active;
    const migration = await kubevirt.migrate(machine, { node: "node2" });
    expect(await migration.handOver()).toBe(true);
    expect(fixture.addressOf(migration.target)).toBe(address);
    await fixture.kernelsAre(address, "node1", "node2");
    await fixture.usersAre(address, "traveller.blue", source, migration.target);

    // KubeVirt would not: its webhook refuses a second migration.
    const third = await kubevirt.migrate(machine, { node: "node3" });
    const refusal = await refusalOf(lab, third.target.name, "traveller.blue");
    expect(refusal).toContain(source.name);
    await fixture.event("traveller.blue", "InUse");
    await fixture.kernelsAre(address, "node1", "node2");

    await migration.succeed();
    expect(await third.handOver()).toBe(true);
    await fixture.kernelsAre(address, "node2", "node3");
    await third.fail();
    await fixture.kernelsAre(address, "node2");
    await fixture.usersAre(address, "traveller.blue", migration.target);
    const shown = await fixture.claimIs(
      "traveller.blue",
      "the target's",
      (claim) => statusOf(claim).ownerPod?.name === migration.target.name,
    );
    expect(statusOf(shown).ips).toEqual([`${address}/24`]);
    await kubevirt.delete(machine);
  },
);

test(
  "a NIC is plugged and unplugged by migrations: a claim of its own, released when no pod has it",
  { timeout: storyMs },
  async () => {
    const { kubevirt } = fixture;
    const machine = await fixture.machine("plugged");
    const address = await fixture.start(machine, "node1");
    const plugging = (await plug(kubevirt, machine, green, "by migration"))!;
    expect(await plugging.handOver()).toBe(true);
    await plugging.succeed();
    const second = fixture.addressOf(plugging.target, ports.green);
    expect(fixture.addressOf(plugging.target)).toBe(address);
    await fixture.usersAre(second, "plugged.green", plugging.target);
    await fixture.kernelsAre(second, plugging.target.node);

    const unplugging = (await unplug(kubevirt, machine, "green", "by migration"))!;
    expect(await unplugging.handOver()).toBe(true);
    // The source still has it.
    expect(await fixture.hold(second)).toMatchObject({ owner: { kind: "claim", name: "plugged.green" } });
    await unplugging.succeed();
    await forget(kubevirt, machine, "green");
    await fixture.claimGoes("plugged.green");
    await fixture.released(second);
    await fixture.kernelsAre(second);
    await fixture.usersAre(address, "plugged.blue", unplugging.target);
    await kubevirt.delete(machine);
  },
);

test("at the end nothing is held, and `check` finds nothing", { timeout: storyMs }, async () => {
  for (const name of ["first.blue", "first.green", "mover.blue", "passer-by.blue", "traveller.blue", "plugged.blue"])
    await fixture.claimGoes(name);
  await fixture.nothingHeld();
  await fixture.holdfast.waitClean();
});
