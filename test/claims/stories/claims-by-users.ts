// Rows of the state machine: what users do to claims themselves. Each story is named by its row.
import { expect } from "vitest";

import { until } from "../../lab/wait.ts";
import { claims } from "../claim-objects.ts";
import { edit, remove } from "../kubevirt/edit.ts";
import { eventsOf } from "./events.ts";
import type { StoryFixture } from "./fixture.ts";
import { addressesOf } from "./sight.ts";
import type { Tell } from "./suite.ts";
import { userPod } from "./user-pod.ts";

const resting = { cooldownMs: 600_000 };
const at = (fixture: StoryFixture, name = "vm1.blue") => ({ namespace: fixture.namespace, name });
const deleteClaim = (fixture: StoryFixture, name?: string) => remove(fixture.admin, claims, at(fixture, name));
const forceFinalizers = (fixture: StoryFixture, name?: string) =>
  edit(fixture.admin, claims, at(fixture, name), ({ metadata }) => {
    metadata.finalizers = [];
  });

/** Whoever leads has seen all that happened before: it makes a claim that was asked for after it. */
export async function oneRound(fixture: StoryFixture): Promise<void> {
  const machine = await fixture.machine("round");
  await fixture.is(machine, "PEND");
  await fixture.kubevirt.delete(machine);
  await fixture.is(machine, "NONE");
}

export function deletedClaims(tell: Tell): void {
  tell(
    "user deletes the claim, VM alive / BOUND: the finalizer holds, it is said, TERM until the owner goes",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const { addresses } = await fixture.look(machine);
      await deleteClaim(fixture);
      for (const kind of ["IPAMClaim vm1.blue", "VirtualMachine vm1"]) {
        const isSaid = async () => (await eventsOf(fixture)).includes(`${kind} ClaimDeleted`);
        await until(isSaid, { what: `the event on ${kind}` });
      }
      await oneRound(fixture);
      expect(await fixture.look(machine)).toMatchObject({ state: "TERM", addresses });
      await fixture.kubevirt.delete(machine);
      await fixture.is(machine, "QUAR");
    },
    resting,
  );

  tell(
    "VMI gone and zero pods, the owner alive (a stopped VM) / TERM: finalizer and address stay, with an event, TERM",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const { addresses } = await fixture.look(machine);
      await deleteClaim(fixture);
      await fixture.kubevirt.stop(machine);
      await fixture.killLeader();
      await fixture.lead();
      await oneRound(fixture);
      const sight = await fixture.look(machine);
      expect(sight).toMatchObject({ state: "TERM", addresses });
      expect(sight.claim?.metadata.finalizers).toContain("holdfast.io/persistent-ip");
      expect(await eventsOf(fixture)).toContain("VirtualMachine vm1 ClaimDeleted");
    },
    { cooldownMs: 1 },
  );

  tell(
    "user deletes the claim, VM alive / RSVD: the finalizer holds, TERM until the owner goes",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      await fixture.kubevirt.stop(machine);
      const { addresses } = await fixture.is(machine, "RSVD");
      await deleteClaim(fixture);
      await oneRound(fixture);
      expect(await fixture.look(machine)).toMatchObject({ state: "TERM", addresses });
      await fixture.kubevirt.delete(machine);
      await fixture.is(machine, "QUAR");
    },
    resting,
  );

  tell(
    "pod of the same owner attaches / TERM: the same address; the claim is made anew on it, BOUND",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const before = await fixture.look(machine);
      await fixture.kubevirt.stop(machine);
      await deleteClaim(fixture);
      await fixture.is(machine, "TERM");
      expect(await fixture.kubevirt.start(machine)).toBe(true);
      expect(addressesOf(machine)).toEqual(before.addresses.map((each) => `${each}/26`));
      expect((await fixture.look(machine)).state).toBe("TERM");
      await forceFinalizers(fixture);
      const after = await fixture.is(machine, "BOUND");
      expect(after.addresses).toEqual(before.addresses);
      expect(after.claim?.metadata.uid).not.toBe(before.claim?.metadata.uid);
      expect(after.claim?.metadata.annotations?.["holdfast.io/continues"]).toBe(before.claim?.metadata.uid);
    },
  );

  tell(
    "finalizer force-removed, pod alive / TERM: the attachment still holds the address, QUAR after the pod",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const { addresses } = await fixture.look(machine);
      fixture.at("pods deleting", async () => {
        await fixture.is(machine, "TERM");
        await forceFinalizers(fixture);
        await until(async () => (await fixture.claim("vm1.blue")) === undefined, { what: "the claim to go" });
        await oneRound(fixture);
        expect(await fixture.look(machine)).toMatchObject({ state: "TERM", addresses, claim: undefined });
      });
      await fixture.kubevirt.delete(machine, "Foreground");
      expect((await fixture.is(machine, "QUAR")).addresses).toEqual(addresses);
    },
    resting,
  );
}

export function handMadeClaims(tell: Tell): void {
  tell(
    "finalizer force-removed, pod alive / TERM: the attachment still holds the address (made by hand)",
    async (fixture) => {
      const { kubelet } = fixture.kubevirt.virt;
      const spec = { network: `${fixture.namespace}-blue`, interface: "" };
      await fixture.admin.create(claims, { metadata: at(fixture, "stake"), spec });
      const pod = await userPod(fixture, { "ipam-claim-reference": "stake" });
      expect(await kubelet.run(pod)).toBe(true);
      const [address = ""] = [...pod.attached.values()][0]!.addresses.map((each) => each.split("/")[0]!);
      await deleteClaim(fixture, "stake");
      await forceFinalizers(fixture, "stake");
      await until(async () => (await fixture.claim("stake")) === undefined, { what: "the claim to go" });
      // Whoever leads next does not know better.
      await fixture.killLeader();
      await fixture.lead();
      await oneRound(fixture);
      expect(await fixture.held(address)).toBe(true);
      await kubelet.finish(pod);
      await until(async () => !(await fixture.held(address)), { what: "the address to be released" });
    },
  );

  tell(
    "a claim made by hand, without an owner / PEND, RSVD: for any pod that refers to it, one at a time",
    async (fixture) => {
      const { kubelet } = fixture.kubevirt.virt;
      const stake = { name: "stake", namespace: fixture.namespace };
      const spec = { network: `${fixture.namespace}-blue`, interface: "" };
      await fixture.admin.create(claims, { metadata: { ...stake }, spec });
      const reference = { "ipam-claim-reference": "stake" };
      const first = await userPod(fixture, reference);
      expect(await kubelet.run(first)).toBe(true);
      const given = [...first.attached.values()][0]!.addresses;
      const hasFinalizer = ({ metadata }: { metadata: { finalizers?: string[] } }) =>
        (metadata.finalizers ?? []).includes("holdfast.io/persistent-ip");
      await fixture.claimIs("stake", "kept while it is used", hasFinalizer);

      const second = await userPod(fixture, reference, fixture.node(2).name);
      const running = kubelet.run(second);
      await until(async () => fixture.refusals.some((each) => /^101 .*stake/.test(each)), { what: "the refusal" });
      await kubelet.finish(first);
      expect(await running).toBe(true);
      expect([...second.attached.values()][0]!.addresses).toEqual(given);

      await kubelet.finish(second);
      await fixture.claimIs("stake", "let go of", (claim) => !hasFinalizer(claim));
      await oneRound(fixture);
      const [address = ""] = given.map((each) => each.split("/")[0]!);
      expect((await fixture.claim("stake"))?.["status"]).toMatchObject({ ips: given });
      expect(addressesOf(await fixture.started("vm1"))).not.toEqual(given);
      await remove(fixture.admin, claims, stake);
      const taken = () => fixture.held(address);
      await until(async () => !(await taken()), { what: "the address to be released" });
    },
  );
}
