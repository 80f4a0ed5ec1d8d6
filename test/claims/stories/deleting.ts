// Rows of the state machine: a VM is deleted, in all ways and from every state. Each story is named by its row.
import { expect } from "vitest";

import { claims } from "../claim-objects.ts";
import { edit, find } from "../kubevirt/edit.ts";
import type { Policy } from "../kubevirt/kubevirt.ts";
import type { Machine } from "../kubevirt/machine.ts";
import { vms } from "../kubevirt/objects.ts";
import { addressesOf } from "./sight.ts";
import type { Tell } from "./suite.ts";
import type { StoryWorld } from "./world.ts";

/** Long enough that nothing is free again before the story is over. */
const resting = { cooldownMs: 600_000 };

/** Deletes a VM that runs. At each moment at which something of it may still run, its address must be held, and not rest. */
async function deleteRunning(world: StoryWorld, machine: Machine, policy: Policy): Promise<void> {
  const { addresses } = await world.look(machine);
  const states: string[] = [];
  for (const moment of ["VMI deleting", "pods deleting", "guest down"]) {
    world.at(moment, async () => {
      // Garbage collection is not told to hurry: a foreground deletion has reached the claim when it says so.
      const sight = policy === "Foreground" ? await world.is(machine, "TERM") : await world.look(machine);
      expect(sight.addresses).toEqual(addresses);
      states.push(sight.state);
    });
  }
  await world.kubevirt.delete(machine, policy);
  expect(states).toHaveLength(3);
  expect(states).not.toContain("QUAR");
  expect((await world.is(machine, "QUAR")).addresses).toEqual(addresses);
  expect(await world.claim(`${machine.name}.blue`)).toBeUndefined();
}

export function deleting(tell: Tell): void {
  for (const policy of ["Background", "Foreground"] as const) {
    const row = `VM delete, ${policy.toLowerCase()}`;
    tell(
      `${row} / BOUND: held until VMI and pods are gone, TERM, then QUAR`,
      async (world) => {
        await deleteRunning(world, await world.started("vm1"), policy);
      },
      resting,
    );

    tell(
      `${row} / MIGR: held until VMI and both pods are gone, TERM, then QUAR`,
      async (world) => {
        const machine = await world.started("vm1");
        const migration = await world.kubevirt.migrate(machine);
        expect(await migration.handOver()).toBe(true);
        await world.is(machine, "MIGR");
        await deleteRunning(world, machine, policy);
        await migration.orphaned();
      },
      resting,
    );
  }

  for (const policy of ["Background", "Foreground", "Orphan"] as const) {
    tell(
      `VM delete / RSVD, PEND: released, QUAR (${policy})`,
      async (world) => {
        const machine = await world.started("vm1");
        await world.kubevirt.stop(machine);
        const { addresses } = await world.is(machine, "RSVD");
        const pending = await world.machine("vm2");
        await world.is(pending, "PEND");
        await world.kubevirt.delete(machine, policy);
        await world.kubevirt.delete(pending, policy);
        expect((await world.is(machine, "QUAR")).addresses).toEqual(addresses);
        await world.is(pending, "NONE");
      },
      resting,
    );
  }
}

export function orphaning(tell: Tell): void {
  const ownerIs = (world: StoryWorld, uid: string | undefined) =>
    world.claimIs("vm1.blue", `of ${uid}`, ({ metadata }) => {
      const { annotations = {}, ownerReferences = [] } = metadata;
      return annotations["holdfast.io/claim-owner"] === uid && ownerReferences[0]?.uid === uid;
    });

  tell("VM delete, orphan cascade / BOUND: re-owned to the VMI, BOUND", async (world) => {
    const machine = await world.started("vm1");
    const before = await world.look(machine);
    await world.kubevirt.delete(machine, "Orphan");
    const claim = await ownerIs(world, machine.instance!.uid);
    expect(claim.metadata.uid).toBe(before.claim?.metadata.uid);
    expect(claim.metadata.deletionTimestamp).toBeUndefined();
    expect((await world.is(machine, "BOUND")).addresses).toEqual(before.addresses);
  });

  tell("a VM of the same name adopts an orphaned, running VMI / BOUND: the claim follows, BOUND", async (world) => {
    const machine = await world.started("vm1");
    const before = await world.look(machine);
    await world.kubevirt.delete(machine, "Orphan");
    const adopter = world.keep(await world.kubevirt.create(world.spec("vm1"), machine));
    const claim = await ownerIs(world, adopter.vmUid);
    expect(claim.metadata.uid).toBe(before.claim?.metadata.uid);
    expect((await world.is(adopter, "BOUND")).addresses).toEqual(before.addresses);
    await world.kubevirt.stop(adopter);
    expect(await world.kubevirt.start(adopter)).toBe(true);
    expect((await world.is(adopter, "BOUND")).addresses).toEqual(before.addresses);
  });
}

export function recreating(tell: Tell): void {
  tell(
    "VM or VMI appears / FOREIGN: neither adopted nor referenced, finished by its UID, then PEND and BOUND",
    async (world) => {
      const machine = await world.started("vm1");
      const { claim } = await world.look(machine);
      await world.killLeader();
      // Nothing but its record says whose it was, and nobody else will delete it.
      await edit(world.admin, claims, { namespace: world.namespace, name: "vm1.blue" }, ({ metadata }) => {
        metadata.ownerReferences = [];
      });
      await world.kubevirt.delete(machine);
      const again = await world.machine("vm1");
      const sight = await world.is(again, "FOREIGN");
      expect(sight.claim?.metadata.deletionTimestamp).toBeUndefined();
      await waitsFor(world, again, claim?.metadata.uid);
    },
  );

  tell("same-name VM created / TERM: the new UID waits, then BOUND", async (world) => {
    const machine = await world.started("vm1");
    const { claim } = await world.look(machine);
    await world.killLeader();
    await world.kubevirt.delete(machine);
    await world.claimIs("vm1.blue", "being deleted", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    const again = await world.machine("vm1");
    await world.is(again, "FOREIGN");
    await waitsFor(world, again, claim?.metadata.uid);
  });

  /** Its pod has nothing while nobody leads, and then an address of its own. */
  async function waitsFor(world: StoryWorld, machine: Machine, old: string | undefined): Promise<void> {
    const starting = world.kubevirt.start(machine);
    const beside = await world.machine("beside", { nics: [{ name: "blue", definition: "blue" }] });
    expect((await world.look(beside)).state).toBe("NONE");
    expect((await world.look(machine)).state).toBe("FOREIGN");
    expect(machine.instance?.active.attached.size ?? 0).toBe(0);
    await world.lead();
    expect(await starting).toBe(true);
    const { claim, addresses } = await world.is(machine, "BOUND");
    expect(claim?.metadata.uid).not.toBe(old);
    expect(claim?.metadata.annotations?.["holdfast.io/claim-owner"]).toBe(machine.vmUid);
    expect(addressesOf(machine)).toEqual(addresses.map((each) => `${each}/26`));
  }
}

export function letting(tell: Tell): void {
  const row = "VMI gone and zero pods, and the owner UID gone or deleting / TERM: the finalizer falls, QUAR";
  tell(
    `${row} (deleting)`,
    async (world) => {
      const machine = await world.started("vm1");
      // Somebody else keeps the VM: a claim that waited for it to be gone would never go.
      await edit(world.admin, vms, machine.at, ({ metadata }) => {
        metadata.finalizers = [...(metadata.finalizers ?? []), "example.org/keep"];
      });
      const deleted = world.kubevirt.delete(machine, "Foreground");
      await world.is(machine, "QUAR");
      expect((await find(world.admin, vms, machine.at))?.metadata.deletionTimestamp).toBeDefined();
      await edit(world.admin, vms, machine.at, ({ metadata }) => {
        metadata.finalizers = metadata.finalizers!.filter((each) => each !== "example.org/keep");
      });
      await deleted;
    },
    resting,
  );

  tell(
    `${row} (gone)`,
    async (world) => {
      const machine = await world.started("vm1");
      await world.killLeader();
      await world.kubevirt.delete(machine);
      await world.is(machine, "TERM");
      await world.lead();
      await world.is(machine, "QUAR");
    },
    resting,
  );
}
