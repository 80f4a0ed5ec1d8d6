// Rows of the state machine: what validation says to who deletes claims. Each story is named by its row.
import { expect } from "vitest";

import { claims } from "../claim-objects.ts";
import { unplug } from "../kubevirt/hotplug.ts";
import { networksAnnotation, pods } from "../kubevirt/objects.ts";
import { addressesOf } from "./sight.ts";
import type { Tell } from "./suite.ts";
import { withWebhooks } from "./webhooks.ts";
import type { StoryWorld } from "./world.ts";

export function validating(tell: Tell): void {
  const row = "user deletes the claim, VM alive / BOUND, RSVD: validation refuses it";
  const removal = (world: StoryWorld, name: string) =>
    world.admin.delete(claims, { namespace: world.namespace, name }).then(
      () => "deleted",
      (error: unknown) => (error as Error).message,
    );
  const two = { nics: ["blue", "green"].map((name) => ({ name, definition: "blue" })) };

  tell(`${row}, and lets it go where the NIC is absent or the VM is being deleted`, async (world) => {
    await withWebhooks(world, async () => {
      const machine = await world.started("vm1", two);
      const first = addressesOf(machine);
      expect(await removal(world, "vm1.blue")).toContain("vm1");
      expect((await world.look(machine)).state).toBe("BOUND");
      await world.kubevirt.stop(machine);
      await world.is(machine, "RSVD");
      expect(await removal(world, "vm1.blue")).toContain("vm1");
      expect((await world.look(machine)).state).toBe("RSVD");
      expect(await world.kubevirt.start(machine)).toBe(true);
      expect(addressesOf(machine)).toEqual(first);
      // The launcher's elements carry the references that the webhook wrote: others read nothing else.
      const pod = await world.admin.get(pods, machine.instance!.active.at);
      expect(pod.metadata.annotations?.[networksAnnotation]).toContain('"ipam-claim-reference":"vm1.green"');

      const migration = await unplug(world.kubevirt, machine, "green", "by migration");
      await world.is(machine, "DETACH", "green");
      expect(await removal(world, "vm1.green")).toBe("deleted");
      await world.is(machine, "TERM", "green");
      await migration!.abort();
      world.at("VMI deleting", async () => expect(await removal(world, "vm1.blue")).toBe("deleted"));
      await world.kubevirt.delete(machine);
      await world.is(machine, "NONE");
    });
  });
}
