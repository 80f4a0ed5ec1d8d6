// Rows of the state machine: NICs that come and go. Each story is named by its row.
import { expect } from "vitest";

import { until } from "../../lab/wait.ts";
import { forget, plug, plugAgain, replug, unplug } from "../kubevirt/hotplug.ts";
import type { Machine } from "../kubevirt/machine.ts";
import { networksAnnotation, pods } from "../kubevirt/objects.ts";
import { oneRound } from "./claims-by-users.ts";
import type { StoryFixture } from "./fixture.ts";
import { addressesOf } from "./sight.ts";
import type { Tell } from "./suite.ts";

const green = { name: "green", definition: "blue" };
const two = { nics: [{ name: "blue", definition: "blue" }, green] };

async function startedWithTwo(fixture: StoryFixture): Promise<Machine> {
  const machine = await fixture.started("vm1", two);
  await fixture.is(machine, "BOUND", "green");
  return machine;
}

export function plugging(tell: Tell): void {
  tell("hot-plug / per NIC: a new claim for each, also of one network, PEND and then BOUND", async (fixture) => {
    const machine = await fixture.started("vm1");
    await plug(fixture.kubevirt, machine, green, "in place");
    const { claim } = await fixture.is(machine, "BOUND", "green");
    expect(claim?.metadata).toMatchObject({ name: "vm1.green", annotations: { "holdfast.io/claim-nic": "green" } });
    const migration = await plug(fixture.kubevirt, machine, { name: "red", definition: "blue" }, "by migration");
    await fixture.is(machine, "PEND", "red");
    expect(await migration!.handOver()).toBe(true);
    await migration!.succeed();
    for (const nic of ["blue", "green", "red"]) await fixture.is(machine, "BOUND", nic);
    expect(new Set(addressesOf(machine)).size).toBe(3);
  });

  tell(
    "hot-plug: the reference is in the pod before the claim exists / NONE: it waits, PEND, BOUND",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      await fixture.killLeader();
      const plugged = plug(fixture.kubevirt, machine, green, "in place");
      const { client } = fixture.kubevirt.virt;
      const launcher = machine.instance!.active;
      const isListed = async () =>
        (await client.get(pods, launcher.at)).metadata.annotations?.[networksAnnotation]?.includes("podba4788b226a");
      await until(isListed, { what: "the NIC in the pod's annotation" });
      expect((await fixture.look(machine, "green")).state).toBe("NONE");
      await fixture.lead();
      await plugged;
      await fixture.is(machine, "BOUND", "green");
    },
  );
}

export function unplugging(tell: Tell): void {
  tell("hot-unplug requested / BOUND: kept while it is attached, DETACH", async (fixture) => {
    const machine = await startedWithTwo(fixture);
    const { addresses, claim } = await fixture.look(machine, "green");
    const migration = await unplug(fixture.kubevirt, machine, "green", "by migration");
    const detaching = await fixture.is(machine, "DETACH", "green");
    expect(detaching.addresses).toEqual(addresses);
    expect(detaching.claim?.metadata.uid).toBe(claim?.metadata.uid);
    expect(detaching.claim?.metadata.deletionTimestamp).toBeUndefined();
    // Another one may not have it meanwhile.
    expect(addressesOf(await fixture.started("vm2"))).not.toEqual(addresses.map((each) => `${each}/26`));
    await migration!.abort();
  });

  tell(
    "unplug, VM stopped / RSVD: released, QUAR",
    async (fixture) => {
      const machine = await startedWithTwo(fixture);
      await fixture.kubevirt.stop(machine);
      const { addresses } = await fixture.is(machine, "RSVD", "green");
      await unplug(fixture.kubevirt, machine, "green", "in place");
      expect((await fixture.is(machine, "QUAR", "green")).addresses).toEqual(addresses);
      expect((await fixture.look(machine)).state).toBe("RSVD");
    },
    { cooldownMs: 600_000 },
  );

  tell(
    "detached in all pods / DETACH: released while the pod lives on, QUAR",
    async (fixture) => {
      const machine = await startedWithTwo(fixture);
      const pod = machine.instance!.active;
      const { addresses } = await fixture.look(machine, "green");
      fixture.at("unplug asked", () => fixture.is(machine, "DETACH", "green"));
      await unplug(fixture.kubevirt, machine, "green", "in place");
      expect((await fixture.is(machine, "QUAR", "green")).addresses).toEqual(addresses);
      expect(await fixture.claim("vm1.green")).toBeUndefined();
      expect(machine.instance!.active).toBe(pod);
      expect((await fixture.look(machine)).state).toBe("BOUND");
    },
    { cooldownMs: 600_000 },
  );

  tell("migration during unplug / DETACH: held until both pods have dropped it, DETACH", async (fixture) => {
    const machine = await startedWithTwo(fixture);
    const { addresses } = await fixture.look(machine, "green");
    // A migration is under way when the unplug is asked for: both pods have the NIC.
    const first = await fixture.kubevirt.migrate(machine);
    expect(await first.handOver()).toBe(true);
    await fixture.is(machine, "MIGR", "green");
    const second = await unplug(fixture.kubevirt, machine, "green", "by migration");
    await second!.abort();
    await fixture.is(machine, "DETACH", "green");
    await first.succeed();
    // The source is over; the target has it still.
    expect((await fixture.is(machine, "DETACH", "green")).addresses).toEqual(addresses);
    const last = await fixture.kubevirt.migrate(machine, { isWorkloadUpdate: true });
    expect(await last.handOver()).toBe(true);
    expect((await fixture.look(machine, "green")).state).toBe("DETACH");
    await last.succeed();
    await forget(fixture.kubevirt, machine, "green");
    await fixture.is(machine, "NONE", "green");
    await fixture.is(machine, "BOUND");
  });

  for (const way of ["in place", "by migration"] as const) {
    tell(
      `re-plug before release / DETACH: the same address, BOUND (${way}; the guest is without it meanwhile)`,
      async (fixture) => {
        const machine = await startedWithTwo(fixture);
        const { addresses, claim } = await fixture.look(machine, "green");
        const away = await unplug(fixture.kubevirt, machine, "green", "by migration");
        await fixture.is(machine, "DETACH", "green");
        await replug(fixture.kubevirt, machine, "green");
        // KubeVirt finishes the first wish first: no pod has the NIC, and the VMI says absent until the next plug.
        expect(await away!.handOver()).toBe(true);
        await away!.succeed();
        await fixture.killLeader();
        await fixture.lead();
        await oneRound(fixture);
        expect((await fixture.look(machine, "green")).addresses).toEqual(addresses);
        const back = await plugAgain(fixture.kubevirt, machine, "green", way);
        if (back !== undefined) expect(await back.handOver()).toBe(true);
        await back?.succeed();
        const again = await fixture.is(machine, "BOUND", "green");
        expect(again.addresses).toEqual(addresses);
        expect(again.claim?.metadata.uid).toBe(claim?.metadata.uid);
        expect(await fixture.kubevirt.restart(machine)).toBe(true);
        expect((await fixture.is(machine, "BOUND", "green")).addresses).toEqual(addresses);
      },
    );
  }
}
