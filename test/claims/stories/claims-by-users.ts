// Rows of the state machine: what users do to claims themselves. Each story is named by its row.
import { expect } from "vitest";

import { until } from "../../lab/wait.ts";
import { claims } from "../claim-objects.ts";
import { edit, remove } from "../kubevirt/edit.ts";
import { eventsOf } from "./events.ts";
import { addressesOf } from "./sight.ts";
import type { Tell } from "./suite.ts";
import { userPod } from "./user-pod.ts";
import type { StoryWorld } from "./world.ts";

const resting = { cooldownMs: 600_000 };
const at = (world: StoryWorld, name = "vm1.blue") => ({ namespace: world.namespace, name });
const deleteClaim = (world: StoryWorld, name?: string) => remove(world.admin, claims, at(world, name));
const forceFinalizers = (world: StoryWorld, name?: string) =>
  edit(world.admin, claims, at(world, name), ({ metadata }) => {
    metadata.finalizers = [];
  });

/** Whoever leads has seen all that happened before: it makes a claim that was asked for after it. */
export async function oneRound(world: StoryWorld): Promise<void> {
  const machine = await world.machine("round");
  await world.is(machine, "PEND");
  await world.kubevirt.delete(machine);
  await world.is(machine, "NONE");
}

export function deletedClaims(tell: Tell): void {
  tell(
    "user deletes the claim, VM alive / BOUND: the finalizer holds, it is said, TERM until the owner goes",
    async (world) => {
      const machine = await world.started("vm1");
      const { addresses } = await world.look(machine);
      await deleteClaim(world);
      for (const kind of ["IPAMClaim vm1.blue", "VirtualMachine vm1"]) {
        const isSaid = async () => (await eventsOf(world)).includes(`${kind} ClaimDeleted`);
        await until(isSaid, { what: `the event on ${kind}` });
      }
      await oneRound(world);
      expect(await world.look(machine)).toMatchObject({ state: "TERM", addresses });
      await world.kubevirt.delete(machine);
      await world.is(machine, "QUAR");
    },
    resting,
  );

  tell(
    "VMI gone and zero pods, the owner alive (a stopped VM) / TERM: finalizer and address stay, with an event, TERM",
    async (world) => {
      const machine = await world.started("vm1");
      const { addresses } = await world.look(machine);
      await deleteClaim(world);
      await world.kubevirt.stop(machine);
      await world.killLeader();
      await world.lead();
      await oneRound(world);
      const sight = await world.look(machine);
      expect(sight).toMatchObject({ state: "TERM", addresses });
      expect(sight.claim?.metadata.finalizers).toContain("holdfast.io/persistent-ip");
      expect(await eventsOf(world)).toContain("VirtualMachine vm1 ClaimDeleted");
    },
    { cooldownMs: 1 },
  );

  tell(
    "user deletes the claim, VM alive / RSVD: the finalizer holds, TERM until the owner goes",
    async (world) => {
      const machine = await world.started("vm1");
      await world.kubevirt.stop(machine);
      const { addresses } = await world.is(machine, "RSVD");
      await deleteClaim(world);
      await oneRound(world);
      expect(await world.look(machine)).toMatchObject({ state: "TERM", addresses });
      await world.kubevirt.delete(machine);
      await world.is(machine, "QUAR");
    },
    resting,
  );

  tell(
    "pod of the same owner attaches / TERM: the same address; the claim is made anew on it, BOUND",
    async (world) => {
      const machine = await world.started("vm1");
      const before = await world.look(machine);
      await world.kubevirt.stop(machine);
      await deleteClaim(world);
      await world.is(machine, "TERM");
      expect(await world.kubevirt.start(machine)).toBe(true);
      expect(addressesOf(machine)).toEqual(before.addresses.map((each) => `${each}/26`));
      expect((await world.look(machine)).state).toBe("TERM");
      await forceFinalizers(world);
      const after = await world.is(machine, "BOUND");
      expect(after.addresses).toEqual(before.addresses);
      expect(after.claim?.metadata.uid).not.toBe(before.claim?.metadata.uid);
      expect(after.claim?.metadata.annotations?.["holdfast.io/continues"]).toBe(before.claim?.metadata.uid);
    },
  );

  tell(
    "finalizer force-removed, pod alive / TERM: the attachment still holds the address, QUAR after the pod",
    async (world) => {
      const machine = await world.started("vm1");
      const { addresses } = await world.look(machine);
      world.at("pods deleting", async () => {
        await world.is(machine, "TERM");
        await forceFinalizers(world);
        await until(async () => (await world.claim("vm1.blue")) === undefined, { what: "the claim to go" });
        await oneRound(world);
        expect(await world.look(machine)).toMatchObject({ state: "TERM", addresses, claim: undefined });
      });
      await world.kubevirt.delete(machine, "Foreground");
      expect((await world.is(machine, "QUAR")).addresses).toEqual(addresses);
    },
    resting,
  );
}

export function handMadeClaims(tell: Tell): void {
  tell(
    "finalizer force-removed, pod alive / TERM: the attachment still holds the address (made by hand)",
    async (world) => {
      const { kubelet } = world.kubevirt.virt;
      const spec = { network: `${world.namespace}-blue`, interface: "" };
      await world.admin.create(claims, { metadata: at(world, "stake"), spec });
      const pod = await userPod(world, { "ipam-claim-reference": "stake" });
      expect(await kubelet.run(pod)).toBe(true);
      const [address = ""] = [...pod.attached.values()][0]!.addresses.map((each) => each.split("/")[0]!);
      await deleteClaim(world, "stake");
      await forceFinalizers(world, "stake");
      await until(async () => (await world.claim("stake")) === undefined, { what: "the claim to go" });
      // Whoever leads next does not know better.
      await world.killLeader();
      await world.lead();
      await oneRound(world);
      expect(await world.held(address)).toBe(true);
      await kubelet.finish(pod);
      await until(async () => !(await world.held(address)), { what: "the address to be released" });
    },
  );

  tell(
    "a claim made by hand, without an owner / PEND, RSVD: for any pod that refers to it, one at a time",
    async (world) => {
      const { kubelet } = world.kubevirt.virt;
      const stake = { name: "stake", namespace: world.namespace };
      const spec = { network: `${world.namespace}-blue`, interface: "" };
      await world.admin.create(claims, { metadata: { ...stake }, spec });
      const reference = { "ipam-claim-reference": "stake" };
      const first = await userPod(world, reference);
      expect(await kubelet.run(first)).toBe(true);
      const given = [...first.attached.values()][0]!.addresses;
      const hasFinalizer = ({ metadata }: { metadata: { finalizers?: string[] } }) =>
        (metadata.finalizers ?? []).includes("holdfast.io/persistent-ip");
      await world.claimIs("stake", "kept while it is used", hasFinalizer);

      const second = await userPod(world, reference, world.node(2).name);
      const running = kubelet.run(second);
      await until(async () => world.refusals.some((each) => /^101 .*stake/.test(each)), { what: "the refusal" });
      await kubelet.finish(first);
      expect(await running).toBe(true);
      expect([...second.attached.values()][0]!.addresses).toEqual(given);

      await kubelet.finish(second);
      await world.claimIs("stake", "let go of", (claim) => !hasFinalizer(claim));
      await oneRound(world);
      const [address = ""] = given.map((each) => each.split("/")[0]!);
      expect((await world.claim("stake"))?.["status"]).toMatchObject({ ips: given });
      expect(addressesOf(await world.started("vm1"))).not.toEqual(given);
      await remove(world.admin, claims, stake);
      const taken = () => world.held(address);
      await until(async () => !(await taken()), { what: "the address to be released" });
    },
  );
}
