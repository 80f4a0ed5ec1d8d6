// Rows of the state machine: pods that are refused, and what they are told. Each story is named by its row.
import { expect } from "vitest";

import { until } from "../../lab/wait.ts";
import { claims } from "../claim-objects.ts";
import { edit, remove } from "../kubevirt/edit.ts";
import type { Machine } from "../kubevirt/machine.ts";
import { type Element, networksAnnotation, pods } from "../kubevirt/objects.ts";
import { eventsOf } from "./events.ts";
import { addressesOf, conditionOf } from "./sight.ts";
import type { Tell } from "./suite.ts";
import { userPod } from "./user-pod.ts";
import type { StoryWorld } from "./world.ts";

/** Its pod waits with this condition on its claim and an event on itself. */
async function waitsWith(world: StoryWorld, machine: Machine, reason: string): Promise<void> {
  await world.claimIs(`${machine.name}.blue`, reason, (claim) => conditionOf(claim) === `False ${reason}`);
  const isSaid = async () => (await eventsOf(world)).includes(`Pod ${machine.instance!.active.name} AddressRefused`);
  await until(isSaid, { what: "the event on the pod" });
  expect((await world.look(machine)).state).toBe("PEND");
}

export function refusing(tell: Tell): void {
  tell(
    "pool exhausted or conflict / PEND: condition, event, and an address when one is free (exhausted)",
    async (world) => {
      const only = `${world.net}.4.10`;
      await world.define("tight", { range: `${world.net}.4.0/24`, range_start: only, range_end: only });
      const nics = [{ name: "blue", definition: "tight" }];
      const first = await world.started("vm1", { nics });
      const second = await world.machine("vm2", { nics });
      const starting = world.kubevirt.start(second);
      await until(async () => second.instance !== undefined, { what: "its instance" });
      await waitsWith(world, second, "SubnetExhausted");
      await world.kubevirt.delete(first);
      expect(await starting).toBe(true);
      await world.is(second, "BOUND");
      expect(addressesOf(second)).toEqual([`${only}/24`]);
      await world.claimIs("vm2.blue", "has one", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
    },
  );

  tell(
    "pool exhausted or conflict / PEND: condition, event, and the address when it is free (conflict)",
    async (world) => {
      const first = await world.started("vm1");
      const [address = ""] = (await world.look(first)).addresses;
      const annotations = { "network.kubevirt.io/addresses": JSON.stringify({ blue: [address] }) };
      const second = await world.machine("vm2", { annotations });
      const starting = world.kubevirt.start(second);
      await until(async () => second.instance !== undefined, { what: "its instance" });
      await waitsWith(world, second, "IPAddressConflict");
      await world.kubevirt.delete(first);
      expect(await starting).toBe(true);
      expect((await world.is(second, "BOUND")).addresses).toEqual([address]);
    },
  );

  tell("pod of another owner UID / any: refused, unchanged", async (world) => {
    const machine = await world.started("vm1");
    const asked = async (state: string) => {
      const before = await world.look(machine);
      expect(before.state).toBe(state);
      const stranger = await userPod(world, { "ipam-claim-reference": "vm1.blue" });
      const element = { name: "blue", namespace: world.namespace, interface: "net1" };
      const told = await world.nodes.ask("ADD", stranger.port(element));
      expect(told.json).toMatchObject({ code: 101, msg: expect.stringContaining("vm1.blue") as string });
      await world.kubevirt.virt.kubelet.finish(stranger);
      expect(await world.look(machine)).toMatchObject({ state, addresses: before.addresses });
    };
    await asked("BOUND");
    const migration = await world.kubevirt.migrate(machine);
    await migration.handOver();
    await world.is(machine, "MIGR");
    await asked("MIGR");
    await migration.succeed();
    await world.kubevirt.stop(machine);
    await world.is(machine, "RSVD");
    await asked("RSVD");
    await referredByLauncher(world);
    await remove(world.admin, claims, { namespace: world.namespace, name: "vm1.blue" });
    await world.is(machine, "TERM");
    await asked("TERM");
  });

  /** A launcher of another VM whose annotation was made to name it. */
  async function referredByLauncher(world: StoryWorld): Promise<void> {
    const other = await world.machine("vm2");
    await world.is(other, "PEND");
    const count = world.refusals.length;
    world.at("pod made", async () => {
      const { active } = other.instance!;
      await edit(world.admin, pods, active.at, ({ metadata }) => {
        const elements = JSON.parse(metadata.annotations![networksAnnotation]!) as Element[];
        const wrong = elements.map((each) => ({ ...each, "ipam-claim-reference": "vm1.blue" }));
        metadata.annotations![networksAnnotation] = JSON.stringify(wrong);
      });
    });
    const starting = world.kubevirt.start(other);
    const isRefused = async () => world.refusals.slice(count).some((each) => /^101 .*vm1\.blue/.test(each));
    await until(isRefused, { what: "the refusal" });
    await world.kubevirt.delete(other);
    expect(await starting).toBe(false);
  }
}
