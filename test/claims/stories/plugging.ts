// Rows of the state machine: NICs that come and go. Each story is named by its row.
import { expect } from "vitest";

import { until } from "../../lab/wait.ts";
import { forget, plug, plugAgain, replug, unplug } from "../kubevirt/hotplug.ts";
import type { Machine } from "../kubevirt/machine.ts";
import { networksAnnotation, pods } from "../kubevirt/objects.ts";
import { oneRound } from "./claims-by-users.ts";
import { addressesOf } from "./sight.ts";
import type { Tell } from "./suite.ts";
import type { StoryWorld } from "./world.ts";

const green = { name: "green", definition: "blue" };
const two = { nics: [{ name: "blue", definition: "blue" }, green] };

async function startedWithTwo(world: StoryWorld): Promise<Machine> {
  const machine = await world.started("vm1", two);
  await world.is(machine, "BOUND", "green");
  return machine;
}

export function plugging(tell: Tell): void {
  tell("hot-plug / per NIC: a new claim for each, also of one network, PEND and then BOUND", async (world) => {
    const machine = await world.started("vm1");
    await plug(world.kubevirt, machine, green, "in place");
    const { claim } = await world.is(machine, "BOUND", "green");
    expect(claim?.metadata).toMatchObject({ name: "vm1.green", annotations: { "holdfast.io/claim-nic": "green" } });
    const migration = await plug(world.kubevirt, machine, { name: "red", definition: "blue" }, "by migration");
    await world.is(machine, "PEND", "red");
    expect(await migration!.handOver()).toBe(true);
    await migration!.succeed();
    for (const nic of ["blue", "green", "red"]) await world.is(machine, "BOUND", nic);
    expect(new Set(addressesOf(machine)).size).toBe(3);
  });

  tell("hot-plug: the reference is in the pod before the claim exists / NONE: it waits, PEND, BOUND", async (world) => {
    const machine = await world.started("vm1");
    await world.killLeader();
    const plugged = plug(world.kubevirt, machine, green, "in place");
    const { client } = world.kubevirt.virt;
    const launcher = machine.instance!.active;
    const isListed = async () =>
      (await client.get(pods, launcher.at)).metadata.annotations?.[networksAnnotation]?.includes("podba4788b226a");
    await until(isListed, { what: "the NIC in the pod's annotation" });
    expect((await world.look(machine, "green")).state).toBe("NONE");
    await world.lead();
    await plugged;
    await world.is(machine, "BOUND", "green");
  });
}

export function unplugging(tell: Tell): void {
  tell("hot-unplug requested / BOUND: kept while it is attached, DETACH", async (world) => {
    const machine = await startedWithTwo(world);
    const { addresses, claim } = await world.look(machine, "green");
    const migration = await unplug(world.kubevirt, machine, "green", "by migration");
    const detaching = await world.is(machine, "DETACH", "green");
    expect(detaching.addresses).toEqual(addresses);
    expect(detaching.claim?.metadata.uid).toBe(claim?.metadata.uid);
    expect(detaching.claim?.metadata.deletionTimestamp).toBeUndefined();
    // Another one may not have it meanwhile.
    expect(addressesOf(await world.started("vm2"))).not.toEqual(addresses.map((each) => `${each}/26`));
    await migration!.abort();
  });

  tell(
    "unplug, VM stopped / RSVD: released, QUAR",
    async (world) => {
      const machine = await startedWithTwo(world);
      await world.kubevirt.stop(machine);
      const { addresses } = await world.is(machine, "RSVD", "green");
      await unplug(world.kubevirt, machine, "green", "in place");
      expect((await world.is(machine, "QUAR", "green")).addresses).toEqual(addresses);
      expect((await world.look(machine)).state).toBe("RSVD");
    },
    { cooldownMs: 600_000 },
  );

  tell(
    "detached in all pods / DETACH: released while the pod lives on, QUAR",
    async (world) => {
      const machine = await startedWithTwo(world);
      const pod = machine.instance!.active;
      const { addresses } = await world.look(machine, "green");
      world.at("unplug asked", () => world.is(machine, "DETACH", "green"));
      await unplug(world.kubevirt, machine, "green", "in place");
      expect((await world.is(machine, "QUAR", "green")).addresses).toEqual(addresses);
      expect(await world.claim("vm1.green")).toBeUndefined();
      expect(machine.instance!.active).toBe(pod);
      expect((await world.look(machine)).state).toBe("BOUND");
    },
    { cooldownMs: 600_000 },
  );

  tell("migration during unplug / DETACH: held until both pods have dropped it, DETACH", async (world) => {
    const machine = await startedWithTwo(world);
    const { addresses } = await world.look(machine, "green");
    // A migration is under way when the unplug is asked for: both pods have the NIC.
    const first = await world.kubevirt.migrate(machine);
    expect(await first.handOver()).toBe(true);
    await world.is(machine, "MIGR", "green");
    const second = await unplug(world.kubevirt, machine, "green", "by migration");
    await second!.abort();
    await world.is(machine, "DETACH", "green");
    await first.succeed();
    // The source is over; the target has it still.
    expect((await world.is(machine, "DETACH", "green")).addresses).toEqual(addresses);
    const last = await world.kubevirt.migrate(machine, { isWorkloadUpdate: true });
    expect(await last.handOver()).toBe(true);
    expect((await world.look(machine, "green")).state).toBe("DETACH");
    await last.succeed();
    await forget(world.kubevirt, machine, "green");
    await world.is(machine, "NONE", "green");
    await world.is(machine, "BOUND");
  });

  for (const way of ["in place", "by migration"] as const) {
    tell(
      `re-plug before release / DETACH: the same address, BOUND (${way}; the guest is without it meanwhile)`,
      async (world) => {
        const machine = await startedWithTwo(world);
        const { addresses, claim } = await world.look(machine, "green");
        const away = await unplug(world.kubevirt, machine, "green", "by migration");
        await world.is(machine, "DETACH", "green");
        await replug(world.kubevirt, machine, "green");
        // KubeVirt finishes what was asked for first: no pod has the NIC, and the VMI says absent until it is plugged again.
        expect(await away!.handOver()).toBe(true);
        await away!.succeed();
        await world.killLeader();
        await world.lead();
        await oneRound(world);
        expect((await world.look(machine, "green")).addresses).toEqual(addresses);
        const back = await plugAgain(world.kubevirt, machine, "green", way);
        if (back !== undefined) expect(await back.handOver()).toBe(true);
        await back?.succeed();
        const again = await world.is(machine, "BOUND", "green");
        expect(again.addresses).toEqual(addresses);
        expect(again.claim?.metadata.uid).toBe(claim?.metadata.uid);
        expect(await world.kubevirt.restart(machine)).toBe(true);
        expect((await world.is(machine, "BOUND", "green")).addresses).toEqual(addresses);
      },
    );
  }
}
