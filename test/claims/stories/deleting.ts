// Rows of the state machine: a VM is deleted, in all ways and from every state. Each story is named by its row.
import { expect } from "vitest";

import { claims } from "../claim-objects.ts";
import { edit, find } from "../kubevirt/edit.ts";
import type { Policy } from "../kubevirt/kubevirt.ts";
import type { Machine } from "../kubevirt/machine.ts";
import { vms } from "../kubevirt/objects.ts";
import type { StoryFixture } from "./fixture.ts";
import { addressesOf } from "./sight.ts";
import type { Tell } from "./suite.ts";

/** Long enough that nothing is free again before the story is over. */
const resting = { cooldownMs: 600_000 };

/** Deletes a running VM. Whenever something of it may still run, its address must be held, and not rest. */
async function deleteRunning(fixture: StoryFixture, machine: Machine, policy: Policy): Promise<void> {
  const { addresses } = await fixture.look(machine);
  const states: string[] = [];
  for (const moment of ["VMI deleting", "pods deleting", "guest down"]) {
    fixture.at(moment, async () => {
      // Garbage collection is not told to hurry: a foreground deletion has reached the claim when it says so.
      const sight = policy === "Foreground" ? await fixture.is(machine, "TERM") : await fixture.look(machine);
      expect(sight.addresses).toEqual(addresses);
      states.push(sight.state);
    });
  }
  await fixture.kubevirt.delete(machine, policy);
  expect(states).toHaveLength(3);
  expect(states).not.toContain("QUAR");
  expect((await fixture.is(machine, "QUAR")).addresses).toEqual(addresses);
  expect(await fixture.claim(`${machine.name}.blue`)).toBeUndefined();
}

export function deleting(tell: Tell): void {
  for (const policy of ["Background", "Foreground"] as const) {
    const row = `VM delete, ${policy.toLowerCase()}`;
    tell(
      `${row} / BOUND: held until VMI and pods are gone, TERM, then QUAR`,
      async (fixture) => {
        await deleteRunning(fixture, await fixture.started("vm1"), policy);
      },
      resting,
    );

    tell(
      `${row} / MIGR: held until VMI and both pods are gone, TERM, then QUAR`,
      async (fixture) => {
        const machine = await fixture.started("vm1");
        const migration = await fixture.kubevirt.migrate(machine);
        expect(await migration.handOver()).toBe(true);
        await fixture.is(machine, "MIGR");
        await deleteRunning(fixture, machine, policy);
        await migration.orphaned();
      },
      resting,
    );
  }

  for (const policy of ["Background", "Foreground", "Orphan"] as const) {
    tell(
      `VM delete / RSVD, PEND: released, QUAR (${policy})`,
      async (fixture) => {
        const machine = await fixture.started("vm1");
        await fixture.kubevirt.stop(machine);
        const { addresses } = await fixture.is(machine, "RSVD");
        const pending = await fixture.machine("vm2");
        await fixture.is(pending, "PEND");
        await fixture.kubevirt.delete(machine, policy);
        await fixture.kubevirt.delete(pending, policy);
        expect((await fixture.is(machine, "QUAR")).addresses).toEqual(addresses);
        await fixture.is(pending, "NONE");
      },
      resting,
    );
  }
}

export function orphaning(tell: Tell): void {
  const ownerIs = (fixture: StoryFixture, uid: string | undefined) =>
    fixture.claimIs("vm1.blue", `of ${uid}`, ({ metadata }) => {
      const { annotations = {}, ownerReferences = [] } = metadata;
      return annotations["holdfast.io/claim-owner"] === uid && ownerReferences[0]?.uid === uid;
    });

  tell("VM delete, orphan cascade / BOUND: re-owned to the VMI, BOUND", async (fixture) => {
    const machine = await fixture.started("vm1");
    const before = await fixture.look(machine);
    await fixture.kubevirt.delete(machine, "Orphan");
    const claim = await ownerIs(fixture, machine.instance!.uid);
    expect(claim.metadata.uid).toBe(before.claim?.metadata.uid);
    expect(claim.metadata.deletionTimestamp).toBeUndefined();
    expect((await fixture.is(machine, "BOUND")).addresses).toEqual(before.addresses);
  });

  tell("a VM of the same name adopts an orphaned, running VMI / BOUND: the claim follows, BOUND", async (fixture) => {
    const machine = await fixture.started("vm1");
    const before = await fixture.look(machine);
    await fixture.kubevirt.delete(machine, "Orphan");
    const adopter = fixture.keep(await fixture.kubevirt.create(fixture.spec("vm1"), machine));
    const claim = await ownerIs(fixture, adopter.vmUid);
    expect(claim.metadata.uid).toBe(before.claim?.metadata.uid);
    expect((await fixture.is(adopter, "BOUND")).addresses).toEqual(before.addresses);
    await fixture.kubevirt.stop(adopter);
    expect(await fixture.kubevirt.start(adopter)).toBe(true);
    expect((await fixture.is(adopter, "BOUND")).addresses).toEqual(before.addresses);
  });
}

export function recreating(tell: Tell): void {
  tell(
    "VM or VMI appears / FOREIGN: neither adopted nor referenced, finished by its UID, then PEND and BOUND",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const { claim } = await fixture.look(machine);
      await fixture.killLeader();
      // Nothing but its record says whose it was, and nobody else will delete it.
      await edit(fixture.admin, claims, { namespace: fixture.namespace, name: "vm1.blue" }, ({ metadata }) => {
        metadata.ownerReferences = [];
      });
      await fixture.kubevirt.delete(machine);
      const again = await fixture.machine("vm1");
      const sight = await fixture.is(again, "FOREIGN");
      expect(sight.claim?.metadata.deletionTimestamp).toBeUndefined();
      await waitsFor(fixture, again, claim?.metadata.uid);
    },
  );

  tell("same-name VM created / TERM: the new UID waits, then BOUND", async (fixture) => {
    const machine = await fixture.started("vm1");
    const { claim } = await fixture.look(machine);
    await fixture.killLeader();
    await fixture.kubevirt.delete(machine);
    await fixture.claimIs("vm1.blue", "being deleted", ({ metadata }) => metadata.deletionTimestamp !== undefined);
    const again = await fixture.machine("vm1");
    await fixture.is(again, "FOREIGN");
    await waitsFor(fixture, again, claim?.metadata.uid);
  });

  /** Its pod has nothing while nobody leads, and then an address of its own. */
  async function waitsFor(fixture: StoryFixture, machine: Machine, old: string | undefined): Promise<void> {
    const starting = fixture.kubevirt.start(machine);
    const beside = await fixture.machine("beside", { nics: [{ name: "blue", definition: "blue" }] });
    expect((await fixture.look(beside)).state).toBe("NONE");
    expect((await fixture.look(machine)).state).toBe("FOREIGN");
    expect(machine.instance?.active.attached.size ?? 0).toBe(0);
    await fixture.lead();
    expect(await starting).toBe(true);
    const { claim, addresses } = await fixture.is(machine, "BOUND");
    expect(claim?.metadata.uid).not.toBe(old);
    expect(claim?.metadata.annotations?.["holdfast.io/claim-owner"]).toBe(machine.vmUid);
    expect(addressesOf(machine)).toEqual(addresses.map((each) => `${each}/26`));
  }
}

export function letting(tell: Tell): void {
  const row = "VMI gone and zero pods, and the owner UID gone or deleting / TERM: the finalizer falls, QUAR";
  tell(
    `${row} (deleting)`,
    async (fixture) => {
      const machine = await fixture.started("vm1");
      // Somebody else keeps the VM: a claim that waited for it to be gone would never go.
      await edit(fixture.admin, vms, machine.at, ({ metadata }) => {
        metadata.finalizers = [...(metadata.finalizers ?? []), "example.org/keep"];
      });
      const deleted = fixture.kubevirt.delete(machine, "Foreground");
      await fixture.is(machine, "QUAR");
      expect((await find(fixture.admin, vms, machine.at))?.metadata.deletionTimestamp).toBeDefined();
      await edit(fixture.admin, vms, machine.at, ({ metadata }) => {
        metadata.finalizers = metadata.finalizers!.filter((each) => each !== "example.org/keep");
      });
      await deleted;
    },
    resting,
  );

  tell(
    `${row} (gone)`,
    async (fixture) => {
      const machine = await fixture.started("vm1");
      await fixture.killLeader();
      await fixture.kubevirt.delete(machine);
      await fixture.is(machine, "TERM");
      await fixture.lead();
      await fixture.is(machine, "QUAR");
    },
    resting,
  );
}
