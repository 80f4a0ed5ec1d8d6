// What random runs have found, told once more on purpose.
import { expect } from "vitest";

import { listHolds } from "../../src/ledger/reservation/list-holds.ts";
import { claims } from "./claim-objects.ts";
import { find } from "./kubevirt/edit.ts";
import { plug, unplug } from "./kubevirt/hotplug.ts";
import type { StoryFixture } from "./stories/fixture.ts";
import { onEmbedded } from "./stories/suite.ts";

const green = { name: "green", definition: "blue" };

/** Addresses that are held for a claim that is not there. */
async function ownerless({ admin }: StoryFixture): Promise<string[]> {
  const found: string[] = [];
  for await (const each of listHolds(admin)) {
    if (each.unreadable !== undefined) throw new Error(each.unreadable);
    const { address, owner } = each.hold;
    if (owner.kind !== "claim") continue;
    const { namespace, name, uid } = owner;
    if ((await find(admin, claims, { namespace, name }))?.metadata.uid !== uid) found.push(String(address));
  }
  return found;
}

onEmbedded("what random runs found", (tell) => {
  // Fits seed 627263590: the leader passes such a hold to the NIC's new claim, which has an address, and frees one.
  tell(
    "a NIC goes while no daemon hears its DEL: the daemon that returns makes no hold for the claim that is gone",
    async (fixture) => {
      const { kubevirt } = fixture;
      const machine = await fixture.started("vm1");
      await plug(kubevirt, machine, green, "in place");
      await fixture.is(machine, "BOUND", "green");
      const node = fixture.nodes.all.find(({ name }) => name === machine.instance!.active.node)!;
      await fixture.nodes.kill(node);
      await unplug(kubevirt, machine, "green", "in place");
      await fixture.is(machine, "NONE", "green");
      await fixture.killLeader();
      await fixture.nodes.revive(node);
      // Its answer comes after it has compared what its sandboxes hold.
      expect((await fixture.nodes.ask("ADD", [...machine.instance!.active.attached.values()][0]!.port)).status).toBe(0);
      expect(await ownerless(fixture)).toEqual([]);
      await fixture.lead();
      await plug(kubevirt, machine, green, "in place");
      const { addresses } = await fixture.is(machine, "BOUND", "green");
      expect(addresses).toHaveLength(1);
    },
  );
});
