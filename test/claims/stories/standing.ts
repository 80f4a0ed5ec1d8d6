// Rows of the state machine: what happens around VMs: definitions change, the controller is away, backups come back,
// time passes. Each story is named by its row.
import { expect } from "vitest";

import { planAdoption } from "../../../src/claims/moves/adopt.ts";
import { moveAll } from "../../../src/claims/moves/move-all.ts";
import { networkAttachmentDefinitions } from "../../../src/cluster/resources.ts";
import { until } from "../../lab/wait.ts";
import { movingOptions } from "../cli-moving.ts";
import { unplug } from "../kubevirt/hotplug.ts";
import { backUp, bringBack } from "./backup.ts";
import type { StoryFixture } from "./fixture.ts";
import { addressesOf, conditionOf } from "./sight.ts";
import { restIsOver } from "./state.ts";
import type { Tell } from "./suite.ts";

export function changedDefinitions(tell: Tell): void {
  tell(
    "NAD flag off, NAD deleted / BOUND, RSVD: what is held is kept, no new claims, clean-up works (flag off)",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const first = addressesOf(machine);
      await fixture.claimIs("vm1.blue", "shows it", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
      await fixture.redefine("blue", (config) => void (config["allowPersistentIPs"] = false));
      await noNewClaims(fixture, "blue");
      expect((await fixture.look(machine)).state).toBe("BOUND");
      await fixture.kubevirt.stop(machine);
      await fixture.is(machine, "RSVD");
      expect(await fixture.kubevirt.start(machine)).toBe(true);
      await fixture.is(machine, "BOUND");
      expect(addressesOf(machine)).toEqual(first);
      await fixture.kubevirt.delete(machine);
      await fixture.is(machine, "NONE");
    },
  );

  tell(
    "NAD flag off, NAD deleted / BOUND, RSVD: what is held is kept, no new claims, clean-up works (deleted)",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const stopped = await fixture.started("vm2");
      await fixture.kubevirt.stop(stopped);
      const before = [await fixture.is(machine, "BOUND"), await fixture.is(stopped, "RSVD")];
      await fixture.admin.delete(networkAttachmentDefinitions, { namespace: fixture.namespace, name: "blue" });
      await noNewClaims(fixture, "blue");
      expect((await fixture.look(machine)).addresses).toEqual(before[0]!.addresses);
      expect(await fixture.look(stopped)).toMatchObject({ state: "RSVD", addresses: before[1]!.addresses });
      await fixture.kubevirt.delete(machine);
      await fixture.kubevirt.delete(stopped);
      await fixture.is(machine, "NONE");
      await fixture.is(stopped, "NONE");
    },
  );

  /** The leader has seen the change: it makes a claim for a definition made after it, and none for this one. */
  async function noNewClaims(fixture: StoryFixture, definition: string): Promise<void> {
    await fixture.define("green", { range: `${fixture.net}.2.0/26` });
    const late = await fixture.machine("late", {
      nics: [
        { name: "old", definition },
        { name: "green", definition: "green" },
      ],
    });
    await fixture.is(late, "PEND", "green");
    expect((await fixture.look(late, "old")).state).toBe("NONE");
  }

  tell("subnet shrinks / any: that claim only is flagged; others start, and so does the leader", async (fixture) => {
    const machine = await fixture.started("vm1");
    const beside = await fixture.started("vm2");
    const [address = ""] = (await fixture.look(machine)).addresses;
    const [other = ""] = (await fixture.look(beside)).addresses;
    const last = (text: string) => Number(text.split(".")[3]);
    const isHigh = last(address) > last(other);
    const bound = `${fixture.net}.1.${last(address) + (isHigh ? -1 : 1)}`;
    await fixture.redefine("blue", ({ ipam }) => void (ipam[isHigh ? "range_end" : "range_start"] = bound));
    await fixture.claimIs("vm1.blue", "flagged", (claim) => conditionOf(claim) === "False OutOfRange");
    await fixture.killLeader();
    await fixture.lead();
    const third = await fixture.started("vm3");
    for (const name of ["vm2.blue", "vm3.blue"])
      await fixture.claimIs(name, "well", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
    expect(addressesOf(third)).not.toEqual(addressesOf(machine));
    expect(await fixture.look(machine)).toMatchObject({ state: "BOUND", addresses: [address] });
    expect((await fixture.claim("vm1.blue"))?.["status"]).toMatchObject({ ips: [`${address}/26`] });
  });
}

export function restarting(tell: Tell): void {
  tell(
    "controller restart / any: rebuilt from claims and attachments; TERM is finished, dead owners are swept",
    async (fixture) => {
      const two = {
        nics: ["blue", "green"].map((name) => ({ name, definition: "blue" })),
      };
      const [bound, migrating, stopped] = [
        await fixture.started("bound"),
        await fixture.started("migr"),
        await fixture.started("rsvd"),
      ];
      const pending = await fixture.machine("pend");
      const detaching = await fixture.started("detach", two);
      const dead = [
        await fixture.started("dead"),
        await fixture.started("dead-stopped"),
        await fixture.machine("dead-pend"),
      ];
      await fixture.kubevirt.stop(stopped);
      await fixture.kubevirt.stop(dead[1]!);
      const migration = await fixture.kubevirt.migrate(migrating);
      await migration.handOver();
      const unplugging = await unplug(fixture.kubevirt, detaching, "green", "by migration");
      const seen = async () => {
        const states = [
          await fixture.is(bound, "BOUND"),
          await fixture.is(migrating, "MIGR"),
          await fixture.is(stopped, "RSVD"),
        ];
        states.push(await fixture.is(pending, "PEND"), await fixture.is(detaching, "DETACH", "green"));
        return states.map(({ addresses, claim }) => `${claim?.metadata.uid} ${addresses.join(" ")}`);
      };
      const before = await seen();
      await fixture.killLeader();
      for (const machine of dead) await fixture.kubevirt.delete(machine);
      await fixture.is(dead[0]!, "TERM");
      await fixture.lead();
      for (const machine of dead) await fixture.is(machine, "NONE");
      expect(await seen()).toEqual(before);
      await migration.succeed();
      await unplugging!.abort();
    },
  );
}

export function restoring(tell: Tell): void {
  tell(
    "restore from backup / RSVD: the UID differs: FOREIGN until it is adopted, then the same address",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const from = machine.vmUid!;
      const first = addressesOf(machine);
      await fixture.claimIs("vm1.blue", "shows it", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
      const backup = await backUp(fixture);
      await fixture.kubevirt.delete(machine);
      await fixture.is(machine, "NONE");
      await fixture.killLeader();
      await bringBack(fixture, backup);
      const restored = await fixture.machine("vm1");
      expect(restored.vmUid).not.toBe(from);
      await fixture.lead();
      const starting = fixture.kubevirt.start(restored);
      // What it shows is held for it, and nobody's who has only the name.
      await until(() => fixture.held(first[0]!.split("/")[0]!), { what: "the address of the backup to be held" });
      expect((await fixture.look(restored)).state).toBe("FOREIGN");
      const plan = (books: Parameters<typeof planAdoption>[0]) =>
        planAdoption(books, { namespace: fixture.namespace, name: "vm1", from });
      expect(await moveAll(movingOptions(fixture.admin, plan))).toMatchObject({ refused: 0 });
      expect(await starting).toBe(true);
      await fixture.is(restored, "BOUND");
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
    async (fixture) => {
      const only = `${fixture.net}.4.10`;
      await fixture.define("tight", {
        range: `${fixture.net}.4.0/24`,
        range_start: only,
        range_end: only,
        probe: true,
      });
      const nics = [{ name: "blue", definition: "tight" }];
      const first = await fixture.started("vm1", { nics });
      await fixture.kubevirt.delete(first);
      await fixture.is(first, "QUAR");
      const second = await fixture.machine("vm2", { nics });
      // Asked for now it would be given early, since nothing else is left, by a daemon whose picture has it.
      asked.length = 0;
      await restIsOver(fixture.admin, only);
      expect(await fixture.kubevirt.start(second)).toBe(true);
      await fixture.is(second, "BOUND");
      expect(addressesOf(second)).toEqual([`${only}/24`]);
      expect(asked).toEqual([only]);
      await fixture.is(first, "NONE");
    },
    { cooldownMs: 600_000, daemon: { probe } },
  );
}
