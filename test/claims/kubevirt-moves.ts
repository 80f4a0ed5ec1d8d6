// How VMs move, and how their NICs come and go, against what was observed of the real KubeVirt.
import { expect, it } from "vitest";

import { blue, type GetFixture, green, namespace } from "./kubevirt-fixture.ts";
import { find } from "./kubevirt/edit.ts";
import { forget, plug, swap, unplug } from "./kubevirt/hotplug.ts";
import { elementsOfPod } from "./kubevirt/kubelet.ts";
import { losePods } from "./kubevirt/nodes.ts";
import { nodeNameLabel, pods, vmims, vmis, vms } from "./kubevirt/objects.ts";

export function moveStories(get: GetFixture): void {
  it("section 4: the target's label names the source's node; the source stays Succeeded; the VMI is the same", async () => {
    const { client, kubevirt, started, podOf, active } = get();
    const machine = await started();
    const source = active(machine);
    const migration = await kubevirt.migrate(machine);
    const target = await podOf(migration.target);
    expect(target.metadata.labels?.[nodeNameLabel]).toBe("kv-n1");
    expect(target.spec?.nodeName).toBe("kv-n2");
    const { uid } = machine.instance!;
    await migration.handOver();
    expect((await podOf(source)).status?.phase).toBe("Running");
    await migration.succeed();
    expect((await podOf(source)).status?.phase).toBe("Succeeded");
    expect((await client.get(vmis, machine.at)).status?.nodeName).toBe("kv-n2");
    expect((await client.get(vmis, machine.at)).metadata.uid).toBe(uid);
    expect((await podOf(migration.target)).metadata.labels?.[nodeNameLabel]).toBe("kv-n2");
  });

  it("section 4: of six finished migrations five are kept, each with its dead pod", async () => {
    const { client, kubevirt, started, active, moved } = get();
    const machine = await started();
    const first = active(machine);
    const names: string[] = [];
    for (let round = 0; round < 6; round++) names.push((await moved(machine)).name);
    expect(await find(client, pods, first.at)).toBeUndefined();
    expect(await find(client, vmims, { namespace, name: names[0]! })).toBeUndefined();
    expect(machine.instance?.launchers.filter(({ phase }) => phase === "Succeeded")).toHaveLength(5);
    await kubevirt.stop(machine);
    expect(await find(client, vmims, { namespace, name: names[5]! })).toBeUndefined();
  });

  it.each(["exits", "is deleted", "is forced"] as const)(
    "section 5: the target %s, and the source goes on",
    async (how) => {
      const { client, kubevirt, started, podOf, active } = get();
      const machine = await started();
      const source = active(machine);
      const migration = await kubevirt.migrate(machine);
      await migration.handOver();
      await migration.fail(how);
      expect(active(machine)).toBe(source);
      expect((await podOf(source)).status?.phase).toBe("Running");
      expect(await find(client, pods, migration.target.at).then((pod) => pod?.status?.phase)).toBe(
        how === "exits" ? "Failed" : undefined,
      );
    },
  );

  it("section 5: aborted after the hand-over the target's object stays, before it it goes; the migration goes", async () => {
    const { client, kubevirt, started, podOf } = get();
    const machine = await started();
    const late = await kubevirt.migrate(machine);
    await late.handOver();
    await late.abort();
    expect((await podOf(late.target)).status?.phase).toBe("Succeeded");
    const early = await kubevirt.migrate(machine);
    await early.abort();
    expect(await find(client, pods, early.target.at)).toBeUndefined();
    expect(await find(client, vmims, { namespace, name: early.name })).toBeUndefined();
  });

  it.each(["in place", "by migration"] as const)("section 6: plug and unplug %s", async (way) => {
    const { active, client, kubevirt, started } = get();
    const machine = await started();
    const plugging = await plug(kubevirt, machine, { name: "red", definition: "red" }, way);
    await plugging?.handOver();
    await plugging?.succeed();
    expect([...active(machine).attached.keys()]).toEqual([blue, green, "podb1f51a511f1"]);
    const unplugging = await unplug(kubevirt, machine, "red", way);
    await unplugging?.handOver();
    await unplugging?.succeed();
    await forget(kubevirt, machine, "red");
    expect([...active(machine).attached.keys()]).toEqual([blue, green]);
    expect((await client.get(vms, machine.at)).spec.template.spec.networks.map(({ name }) => name)).toEqual([
      "default",
      "blue",
      "green",
    ]);
  });

  it("section 6: a swapped definition under the same interface name, the running pod's list untouched", async () => {
    const { kubevirt, started, podOf, active } = get();
    const machine = await started();
    const source = active(machine);
    const migration = await swap(kubevirt, machine, "green", "red");
    expect(elementsOfPod(await podOf(source))[1]?.name).toBe("green");
    expect(elementsOfPod(await podOf(migration!.target))[1]).toEqual({ name: "red", namespace, interface: green });
  });

  it("section 8: an eviction is a migration away from the node", async () => {
    const { client, kubevirt, started, active } = get();
    const machine = await started();
    const migration = await kubevirt.evict(machine);
    expect((await client.get(vmims, { namespace, name: migration.name })).metadata.annotations).toMatchObject({
      "kubevirt.io/evacuationMigration": "kv-n1",
    });
    await migration.handOver();
    await migration.succeed();
    expect(active(machine).node).toBe("kv-n2");
  });

  it("section 8: no DEL comes from a lost node, and the VM starts elsewhere", async () => {
    const { kubevirt, calls, started, active } = get();
    const machine = await started();
    const old = active(machine);
    expect(await losePods(kubevirt, machine, "kv-n1")).toBe(true);
    expect(await kubevirt.restart(machine)).toBe(true);
    expect(calls).not.toContain(`DEL ${old.name} ${blue}`);
  });
}
