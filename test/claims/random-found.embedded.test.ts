// What random runs have found, told once more on purpose.
import { expect } from "vitest";

import { listHolds } from "../../src/ledger/reservation/list-holds.ts";
import { claims } from "./claim-objects.ts";
import { find } from "./kubevirt/edit.ts";
import { plug, unplug } from "./kubevirt/hotplug.ts";
import { onEmbedded } from "./stories/suite.ts";
import type { StoryWorld } from "./stories/world.ts";

const green = { name: "green", definition: "blue" };

/** Addresses that are held for a claim that is not there. */
async function ownerless({ admin }: StoryWorld): Promise<string[]> {
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
  // What seed 627263590 showed fits it: the leader passes such a hold on to the claim that is made anew for the NIC, beside the address that it has by then, and frees one of the two.
  tell(
    "a NIC goes while no daemon hears its DEL: the daemon that returns makes no hold for the claim that is gone",
    async (world) => {
      const { kubevirt } = world;
      const machine = await world.started("vm1");
      await plug(kubevirt, machine, green, "in place");
      await world.is(machine, "BOUND", "green");
      const node = world.nodes.all.find(({ name }) => name === machine.instance!.active.node)!;
      await world.nodes.kill(node);
      await unplug(kubevirt, machine, "green", "in place");
      await world.is(machine, "NONE", "green");
      await world.killLeader();
      await world.nodes.revive(node);
      // Its answer comes after it has compared what its sandboxes hold.
      expect((await world.nodes.ask("ADD", [...machine.instance!.active.attached.values()][0]!.port)).status).toBe(0);
      expect(await ownerless(world)).toEqual([]);
      await world.lead();
      await plug(kubevirt, machine, green, "in place");
      const { addresses } = await world.is(machine, "BOUND", "green");
      expect(addresses).toHaveLength(1);
    },
  );
});
