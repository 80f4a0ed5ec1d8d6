// The leader of claims on the real API server, with the real garbage collection: the three ways of deleting a VM, a VM
// that is made anew under its name while nobody leads, and claims whose status asks for more than they may have.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import * as marks from "../../src/api/claims/claim-marks.ts";
import type * as kinds from "../../src/cluster/resources.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { drainingStories } from "./draining.ts";
import { shop, Fixture } from "./leader-fixture.ts";
import { realServer } from "./real-server.ts";

const limitMs = 120_000;

describe("claims on the real API server", { timeout: limitMs }, () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await Fixture.open(await realServer());
    await fixture.define("blue");
  }, coldStartTimeoutMs);
  afterAll(() => fixture?.close());
  const addressOf = () => [...fixture.node.given.values()].at(-1);
  const nics = [{ name: "blue", definition: "blue" }];

  it.each(["Background", "Foreground"] as const)("a VM that runs is deleted in the %s", async (policy) => {
    const leader = fixture.lead();
    const name = `vm-${policy.toLowerCase()}`;
    const machine = await fixture.started(name);
    await fixture.booksAre(`${addressOf()} ${name}.blue 1`);
    await fixture.kubevirt.delete(machine, policy);
    await fixture.claimGoes(`${name}.blue`);
    await fixture.booksAre();
    await leader.stop();
  });

  it("a stopped VM is deleted in the foreground: it waits for its claim, and the claim does not wait for it", async () => {
    const leader = fixture.lead();
    const machine = await fixture.started("vm-stopped");
    const first = addressOf();
    await fixture.kubevirt.stop(machine);
    await fixture.booksAre(`${first} vm-stopped.blue 0`);
    await fixture.kubevirt.delete(machine, "Foreground");
    await fixture.claimGoes("vm-stopped.blue");
    await fixture.booksAre();
    await leader.stop();
  });

  it("orphans: the claim follows the VMI, and the VM that adopts it", async () => {
    const leader = fixture.lead();
    const machine = await fixture.started("vm-orphan");
    const first = addressOf();
    const vmi = machine.instance!.uid;
    await fixture.kubevirt.delete(machine, "Orphan");
    const ownerIs = (uid: string | undefined) => (claim: kinds.StoredClaim) =>
      claim.metadata.annotations?.[marks.claimOwnerAnnotation] === uid &&
      claim.metadata.ownerReferences?.[0]?.uid === uid;
    const claim = await fixture.claimIs("vm-orphan.blue", "the VMI's", ownerIs(vmi));
    expect(claim.metadata.deletionTimestamp).toBeUndefined();
    const adopter = await fixture.kubevirt.create({ namespace: shop, name: "vm-orphan", nics }, machine);
    await fixture.claimIs("vm-orphan.blue", "the new VM's", ownerIs(adopter.vmUid));
    await fixture.booksAre(`${first} vm-orphan.blue 1`);
    await fixture.kubevirt.delete(adopter);
    await fixture.claimGoes("vm-orphan.blue");
    await fixture.booksAre();
    await leader.stop();
  });

  drainingStories(() => fixture);

  it("deleted and made anew while nobody leads: the old claim is finished first", async () => {
    const first = fixture.lead();
    const machine = await fixture.started("vm-again");
    const { metadata } = await fixture.claimIs("vm-again.blue", "made", () => true);
    await first.kill();
    await fixture.kubevirt.delete(machine);
    const again = await fixture.machine("vm-again");
    const starting = fixture.kubevirt.start(again);
    const leader = fixture.lead();
    expect(await starting).toBe(true);
    const claim = await fixture.claimIs("vm-again.blue", "another", (each) => each.metadata.uid !== metadata.uid);
    expect(claim.metadata.annotations?.[marks.claimOwnerAnnotation]).toBe(again.vmUid);
    await fixture.booksAre(`${addressOf()} vm-again.blue 1`);
    await fixture.kubevirt.delete(again);
    await fixture.booksAre();
    await leader.stop();
  });
});
