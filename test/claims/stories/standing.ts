// Rows of the state machine: what happens around VMs: definitions change, the controller is away, backups come back, time passes. Each story is named
// by its row.
import { expect } from "vitest";

import { planAdoption } from "../../../src/claims/moves/adopt.ts";
import { moveAll } from "../../../src/claims/moves/move-all.ts";
import { networkAttachmentDefinitions } from "../../../src/cluster/resources.ts";
import { until } from "../../lab/wait.ts";
import { movingOptions } from "../cli-moving.ts";
import { unplug } from "../kubevirt/hotplug.ts";
import { backUp, bringBack } from "./backup.ts";
import { addressesOf, conditionOf } from "./sight.ts";
import { restIsOver } from "./state.ts";
import type { Tell } from "./suite.ts";
import type { StoryWorld } from "./world.ts";

export function changedDefinitions(tell: Tell): void {
  tell(
    "NAD flag off, NAD deleted / BOUND, RSVD: what is held is kept, no new claims, clean-up works (flag off)",
    async (world) => {
      const machine = await world.started("vm1");
      const first = addressesOf(machine);
      await world.claimIs("vm1.blue", "shows it", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
      await world.redefine("blue", (config) => void (config["allowPersistentIPs"] = false));
      await noNewClaims(world, "blue");
      expect((await world.look(machine)).state).toBe("BOUND");
      await world.kubevirt.stop(machine);
      await world.is(machine, "RSVD");
      expect(await world.kubevirt.start(machine)).toBe(true);
      await world.is(machine, "BOUND");
      expect(addressesOf(machine)).toEqual(first);
      await world.kubevirt.delete(machine);
      await world.is(machine, "NONE");
    },
  );

  tell(
    "NAD flag off, NAD deleted / BOUND, RSVD: what is held is kept, no new claims, clean-up works (deleted)",
    async (world) => {
      const machine = await world.started("vm1");
      const stopped = await world.started("vm2");
      await world.kubevirt.stop(stopped);
      const before = [await world.is(machine, "BOUND"), await world.is(stopped, "RSVD")];
      await world.admin.delete(networkAttachmentDefinitions, { namespace: world.namespace, name: "blue" });
      await noNewClaims(world, "blue");
      expect((await world.look(machine)).addresses).toEqual(before[0]!.addresses);
      expect(await world.look(stopped)).toMatchObject({ state: "RSVD", addresses: before[1]!.addresses });
      await world.kubevirt.delete(machine);
      await world.kubevirt.delete(stopped);
      await world.is(machine, "NONE");
      await world.is(stopped, "NONE");
    },
  );

  /** The leader has seen the change: it makes a claim for a definition that was made after it, and none for this one. */
  async function noNewClaims(world: StoryWorld, definition: string): Promise<void> {
    await world.define("green", { range: `${world.net}.2.0/26` });
    const late = await world.machine("late", {
      nics: [
        { name: "old", definition },
        { name: "green", definition: "green" },
      ],
    });
    await world.is(late, "PEND", "green");
    expect((await world.look(late, "old")).state).toBe("NONE");
  }

  tell("subnet shrinks / any: that claim only is flagged; others start, and so does the leader", async (world) => {
    const machine = await world.started("vm1");
    const beside = await world.started("vm2");
    const [address = ""] = (await world.look(machine)).addresses;
    const [other = ""] = (await world.look(beside)).addresses;
    const last = (text: string) => Number(text.split(".")[3]);
    const isHigh = last(address) > last(other);
    const bound = `${world.net}.1.${last(address) + (isHigh ? -1 : 1)}`;
    await world.redefine("blue", ({ ipam }) => void (ipam[isHigh ? "range_end" : "range_start"] = bound));
    await world.claimIs("vm1.blue", "flagged", (claim) => conditionOf(claim) === "False OutOfRange");
    await world.killLeader();
    await world.lead();
    const third = await world.started("vm3");
    for (const name of ["vm2.blue", "vm3.blue"])
      await world.claimIs(name, "well", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
    expect(addressesOf(third)).not.toEqual(addressesOf(machine));
    expect(await world.look(machine)).toMatchObject({ state: "BOUND", addresses: [address] });
    expect((await world.claim("vm1.blue"))?.["status"]).toMatchObject({ ips: [`${address}/26`] });
  });
}

export function restarting(tell: Tell): void {
  tell(
    "controller restart / any: rebuilt from claims and attachments; TERM is finished, dead owners are swept",
    async (world) => {
      const two = {
        nics: ["blue", "green"].map((name) => ({ name, definition: "blue" })),
      };
      const [bound, migrating, stopped] = [
        await world.started("bound"),
        await world.started("migr"),
        await world.started("rsvd"),
      ];
      const pending = await world.machine("pend");
      const detaching = await world.started("detach", two);
      const dead = [await world.started("dead"), await world.started("dead-stopped"), await world.machine("dead-pend")];
      await world.kubevirt.stop(stopped);
      await world.kubevirt.stop(dead[1]!);
      const migration = await world.kubevirt.migrate(migrating);
      await migration.handOver();
      const unplugging = await unplug(world.kubevirt, detaching, "green", "by migration");
      const seen = async () => {
        const states = [
          await world.is(bound, "BOUND"),
          await world.is(migrating, "MIGR"),
          await world.is(stopped, "RSVD"),
        ];
        states.push(await world.is(pending, "PEND"), await world.is(detaching, "DETACH", "green"));
        return states.map(({ addresses, claim }) => `${claim?.metadata.uid} ${addresses.join(" ")}`);
      };
      const before = await seen();
      await world.killLeader();
      for (const machine of dead) await world.kubevirt.delete(machine);
      await world.is(dead[0]!, "TERM");
      await world.lead();
      for (const machine of dead) await world.is(machine, "NONE");
      expect(await seen()).toEqual(before);
      await migration.succeed();
      await unplugging!.abort();
    },
  );
}

export function restoring(tell: Tell): void {
  tell(
    "restore from backup / RSVD: the UID differs: FOREIGN until it is adopted, then the same address",
    async (world) => {
      const machine = await world.started("vm1");
      const from = machine.vmUid!;
      const first = addressesOf(machine);
      await world.claimIs("vm1.blue", "shows it", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
      const backup = await backUp(world);
      await world.kubevirt.delete(machine);
      await world.is(machine, "NONE");
      await world.killLeader();
      await bringBack(world, backup);
      const restored = await world.machine("vm1");
      expect(restored.vmUid).not.toBe(from);
      await world.lead();
      const starting = world.kubevirt.start(restored);
      // What it shows is held for it, and nobody's who has only the name.
      await until(() => world.held(first[0]!.split("/")[0]!), { what: "the address of the backup to be held" });
      expect((await world.look(restored)).state).toBe("FOREIGN");
      const plan = (books: Parameters<typeof planAdoption>[0]) =>
        planAdoption(books, { namespace: world.namespace, name: "vm1", from });
      expect(await moveAll(movingOptions(world.admin, plan))).toMatchObject({ refused: 0 });
      expect(await starting).toBe(true);
      await world.is(restored, "BOUND");
      expect(addressesOf(restored)).toEqual(first);
    },
  );
}

export function resting(tell: Tell): void {
  const asked: string[] = [];
  const probe = async ({ address }: { readonly address: unknown }) => {
    asked.push(String(address));
    return { duplicate: false } as const;
  };
  tell(
    "cooldown over, probe clean / QUAR: free, NONE, and then another's",
    async (world) => {
      const only = `${world.net}.4.10`;
      await world.define("tight", { range: `${world.net}.4.0/24`, range_start: only, range_end: only, probe: true });
      const nics = [{ name: "blue", definition: "tight" }];
      const first = await world.started("vm1", { nics });
      await world.kubevirt.delete(first);
      await world.is(first, "QUAR");
      const second = await world.machine("vm2", { nics });
      // Asked for now it would be given early, since nothing else is left, by a daemon whose picture has it.
      asked.length = 0;
      await restIsOver(world.admin, only);
      expect(await world.kubevirt.start(second)).toBe(true);
      await world.is(second, "BOUND");
      expect(addressesOf(second)).toEqual([`${only}/24`]);
      expect(asked).toEqual([only]);
      await world.is(first, "NONE");
    },
    { cooldownMs: 600_000, daemon: { probe } },
  );
}
