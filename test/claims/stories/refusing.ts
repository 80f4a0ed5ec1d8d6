// Rows of the state machine: pods that are refused, and what they are told. Each story is named by its row.
import { expect } from "vitest";

import { until } from "../../lab/wait.ts";
import { claims } from "../claim-objects.ts";
import { edit, remove } from "../kubevirt/edit.ts";
import type { Machine } from "../kubevirt/machine.ts";
import { type Element, networksAnnotation, pods } from "../kubevirt/objects.ts";
import { eventsOf } from "./events.ts";
import type { StoryFixture } from "./fixture.ts";
import { addressesOf, conditionOf } from "./sight.ts";
import type { Tell } from "./suite.ts";
import { userPod } from "./user-pod.ts";

/** Its pod waits with this condition on its claim and an event on itself. */
async function waitsWith(fixture: StoryFixture, machine: Machine, reason: string): Promise<void> {
  await fixture.claimIs(`${machine.name}.blue`, reason, (claim) => conditionOf(claim) === `False ${reason}`);
  const isSaid = async () => (await eventsOf(fixture)).includes(`Pod ${machine.instance!.active.name} AddressRefused`);
  await until(isSaid, { what: "the event on the pod" });
  expect((await fixture.look(machine)).state).toBe("PEND");
}

export function refusing(tell: Tell): void {
  tell(
    "pool exhausted or conflict / PEND: condition, event, and an address when one is free (exhausted)",
    async (fixture) => {
      const only = `${fixture.net}.4.10`;
      await fixture.define("tight", { range: `${fixture.net}.4.0/24`, range_start: only, range_end: only });
      const nics = [{ name: "blue", definition: "tight" }];
      const first = await fixture.started("vm1", { nics });
      const second = await fixture.machine("vm2", { nics });
      const starting = fixture.kubevirt.start(second);
      await until(async () => second.instance !== undefined, { what: "its instance" });
      await waitsWith(fixture, second, "SubnetExhausted");
      await fixture.kubevirt.delete(first);
      expect(await starting).toBe(true);
      await fixture.is(second, "BOUND");
      expect(addressesOf(second)).toEqual([`${only}/24`]);
      await fixture.claimIs("vm2.blue", "has one", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
    },
  );

  tell(
    "pool exhausted or conflict / PEND: condition, event, and the address when it is free (conflict)",
    async (fixture) => {
      const first = await fixture.started("vm1");
      const [address = ""] = (await fixture.look(first)).addresses;
      const annotations = { "network.kubevirt.io/addresses": JSON.stringify({ blue: [address] }) };
      const second = await fixture.machine("vm2", { annotations });
      const starting = fixture.kubevirt.start(second);
      await until(async () => second.instance !== undefined, { what: "its instance" });
      await waitsWith(fixture, second, "IPAddressConflict");
      await fixture.kubevirt.delete(first);
      expect(await starting).toBe(true);
      expect((await fixture.is(second, "BOUND")).addresses).toEqual([address]);
    },
  );

  tell("pod of another owner UID / any: refused, unchanged", async (fixture) => {
    const machine = await fixture.started("vm1");
    const asked = async (state: string) => {
      const before = await fixture.look(machine);
      expect(before.state).toBe(state);
      const stranger = await userPod(fixture, { "ipam-claim-reference": "vm1.blue" });
      const element = { name: "blue", namespace: fixture.namespace, interface: "net1" };
      const told = await fixture.nodes.ask("ADD", stranger.port(element));
      expect(told.json).toMatchObject({ code: 101, msg: expect.stringContaining("vm1.blue") as string });
      await fixture.kubevirt.virt.kubelet.finish(stranger);
      expect(await fixture.look(machine)).toMatchObject({ state, addresses: before.addresses });
    };
    await asked("BOUND");
    const migration = await fixture.kubevirt.migrate(machine);
    await migration.handOver();
    await fixture.is(machine, "MIGR");
    await asked("MIGR");
    await migration.succeed();
    await fixture.kubevirt.stop(machine);
    await fixture.is(machine, "RSVD");
    await asked("RSVD");
    await referredByLauncher(fixture);
    await remove(fixture.admin, claims, { namespace: fixture.namespace, name: "vm1.blue" });
    await fixture.is(machine, "TERM");
    await asked("TERM");
  });

  /** A launcher of another VM whose annotation was made to name it. */
  async function referredByLauncher(fixture: StoryFixture): Promise<void> {
    const other = await fixture.machine("vm2");
    await fixture.is(other, "PEND");
    const count = fixture.refusals.length;
    fixture.at("pod made", async () => {
      const { active } = other.instance!;
      await edit(fixture.admin, pods, active.at, ({ metadata }) => {
        const elements = JSON.parse(metadata.annotations![networksAnnotation]!) as Element[];
        const wrong = elements.map((each) => ({ ...each, "ipam-claim-reference": "vm1.blue" }));
        metadata.annotations![networksAnnotation] = JSON.stringify(wrong);
      });
    });
    const starting = fixture.kubevirt.start(other);
    const isRefused = async () => fixture.refusals.slice(count).some((each) => /^101 .*vm1\.blue/.test(each));
    await until(isRefused, { what: "the refusal" });
    await fixture.kubevirt.delete(other);
    expect(await starting).toBe(false);
  }
}
