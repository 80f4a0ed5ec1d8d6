// What users ask about, and what comes of it: snapshots, clones, pools of VMs, and a node that is lost.
import { expect } from "vitest";

import { until } from "../../lab/wait.ts";
import { losePods, setOutOfService, setReady } from "../kubevirt/nodes.ts";
import { eventsOf } from "./events.ts";
import { addressesOf } from "./sight.ts";
import type { Tell } from "./suite.ts";

export function copies(tell: Tell): void {
  tell("a snapshot restored in place: the same VM UID, the same address", async (fixture) => {
    const machine = await fixture.started("vm1");
    const before = await fixture.look(machine);
    const uid = machine.vmUid;
    await fixture.kubevirt.stop(machine);
    await fixture.kubevirt.restore(machine, [
      { name: "blue", definition: "blue" },
      { name: "green", definition: "blue" },
    ]);
    expect(await fixture.kubevirt.start(machine)).toBe(true);
    const after = await fixture.is(machine, "BOUND");
    expect(machine.vmUid).toBe(uid);
    expect(after.addresses).toEqual(before.addresses);
    expect(after.claim?.metadata.uid).toBe(before.claim?.metadata.uid);
    // A NIC that the snapshot has and the VM had not is new, and one that it has not is given back.
    const green = await fixture.is(machine, "BOUND", "green");
    expect(green.addresses).not.toEqual(before.addresses);
    await fixture.kubevirt.stop(machine);
    await fixture.kubevirt.restore(machine, [{ name: "blue", definition: "blue" }]);
    await fixture.is(machine, "NONE", "green");
    expect((await fixture.look(machine)).addresses).toEqual(before.addresses);
  });

  tell(
    "ordinal interface names: absent NICs shift nobody, and the addresses stay when a migration brings hashed names",
    async (fixture) => {
      const nics = ["blue", "green", "red"].map((name) => ({ name, definition: "blue" }));
      const machine = await fixture.started("vm1", { nics, scheme: "ordinal" });
      const seen = async () =>
        Object.fromEntries(
          await Promise.all(
            nics.map(async ({ name }) => [name, (await fixture.look(machine, name)).addresses] as const),
          ),
        );
      const before = await seen();
      expect(new Set(Object.values(before).flat()).size).toBe(3);
      expect([...machine.instance!.active.attached.keys()]).toEqual(["net1", "net2", "net3"]);
      const migration = await fixture.kubevirt.migrate(machine);
      expect(await migration.handOver()).toBe(true);
      await migration.succeed();
      expect(await seen()).toEqual(before);
      expect([...machine.instance!.active.attached.keys()].every((each) => each.startsWith("pod"))).toBe(true);
      await fixture.kubevirt.stop(machine);
      await fixture.kubevirt.restore(machine, [{ ...nics[0]!, absent: true }, ...nics.slice(1)]);
      await fixture.is(machine, "NONE");
      expect(await fixture.kubevirt.start(machine)).toBe(true);
      const { blue: _, ...rest } = before;
      expect(await seen()).toEqual({ blue: [], ...rest });
    },
  );

  tell("a clone: a new owner, a new address", async (fixture) => {
    const machine = await fixture.started("vm1", {
      nics: [{ name: "blue", definition: "blue", mac: "02:00:00:00:00:01" }],
    });
    const clone = fixture.keep(await fixture.kubevirt.clone(machine, "vm2"));
    expect(await fixture.kubevirt.start(clone)).toBe(true);
    const [one, two] = [await fixture.is(machine, "BOUND"), await fixture.is(clone, "BOUND")];
    expect(two.addresses).not.toEqual(one.addresses);
    expect(two.claim?.metadata.annotations?.["holdfast.io/claim-owner"]).toBe(clone.vmUid);
    await fixture.kubevirt.delete(machine);
    await fixture.is(machine, "NONE");
    expect(await fixture.look(clone)).toMatchObject({ state: "BOUND", addresses: two.addresses });
  });

  tell("a VirtualMachinePool: each VM its own claims, and one that is replaced begins anew", async (fixture) => {
    const machines = await fixture.kubevirt.pool(fixture.spec("web"), 3);
    for (const machine of machines) {
      fixture.keep(machine);
      expect(await fixture.kubevirt.start(machine)).toBe(true);
      await fixture.is(machine, "BOUND");
    }
    const before = machines.flatMap(addressesOf);
    expect(new Set(before).size).toBe(3);
    for (const machine of machines.slice(0, 2)) expect(await fixture.kubevirt.restart(machine)).toBe(true);
    expect(machines.flatMap(addressesOf)).toEqual(before);
    const { claim } = await fixture.look(machines[2]!);
    await fixture.kubevirt.delete(machines[2]!);
    const again = await fixture.started("web-2");
    expect((await fixture.look(again)).claim?.metadata.uid).not.toBe(claim?.metadata.uid);
    expect(machines.slice(0, 2).flatMap(addressesOf)).toEqual(before.slice(0, 2));
  });
}

export function lostNodes(tell: Tell): void {
  /** Namespaces whose links were taken down. */
  const shut: string[] = [];
  const fencing = {
    identify: async (netns: string) => `id of ${netns}`,
    shut: async ({ netns, links }: { readonly netns: string; readonly links: readonly string[] }) => {
      shut.push(netns);
      return links;
    },
  };
  tell(
    "a node is lost and the VM starts elsewhere: the same address there, and the old guest's port is fenced when the node is back",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const { addresses } = await fixture.look(machine);
      const [old] = [...machine.instance!.active.attached.values()];
      const lost = fixture.node(1);
      expect(machine.instance!.active.node).toBe(lost.name);
      lost.isReady = false;
      lost.line.cut();
      await setReady(fixture.admin, lost.name, "Unknown");
      await setOutOfService(fixture.admin, lost.name, true);
      expect(await losePods(fixture.kubevirt, machine, lost.name)).toBe(true);
      expect(await fixture.kubevirt.restart(machine)).toBe(true);
      expect(machine.instance!.active.node).not.toBe(lost.name);
      expect((await fixture.is(machine, "BOUND")).addresses).toEqual(addresses);
      expect(shut).toEqual([]);

      lost.line.heal();
      await setReady(fixture.admin, lost.name, "True");
      await setOutOfService(fixture.admin, lost.name, false);
      lost.isReady = true;
      await until(async () => shut.length > 0, { what: "the old port to be shut" });
      await until(async () => (await eventsOf(fixture)).includes("IPAMClaim vm1.blue OldSandboxFenced"), {
        what: "the event",
      });
      expect(shut).toEqual([`/run/netns/${old!.port.container}`]);
      expect(await fixture.look(machine)).toMatchObject({ state: "BOUND", addresses });
    },
    { daemon: { fencing } },
  );
}
