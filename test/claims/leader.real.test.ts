// The leader of claims on the real API server, with the real garbage collection: the three ways of deleting a VM, and a VM that is made
// anew under its name while nobody leads.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import * as marks from "../../src/api/claims/claim-marks.ts";
import type * as kinds from "../../src/cluster/resources.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { shop, Stage } from "./leader-stage.ts";
import { realServer } from "./real-server.ts";

const limitMs = 120_000;

describe("claims on the real API server", { timeout: limitMs }, () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open(await realServer());
    await stage.define("blue");
  }, coldStartTimeoutMs);
  afterAll(() => stage?.close());
  const addressOf = () => [...stage.node.given.values()].at(-1);
  const nics = [{ name: "blue", definition: "blue" }];

  it.each(["Background", "Foreground"] as const)("a VM that runs is deleted in the %s", async (policy) => {
    const leader = stage.lead();
    const name = `vm-${policy.toLowerCase()}`;
    const machine = await stage.started(name);
    await stage.booksAre(`${addressOf()} ${name}.blue 1`);
    await stage.kubevirt.delete(machine, policy);
    await stage.claimGoes(`${name}.blue`);
    await stage.booksAre();
    await leader.stop();
  });

  it("a stopped VM is deleted in the foreground: it waits for its claim, and the claim does not wait for it", async () => {
    const leader = stage.lead();
    const machine = await stage.started("vm-stopped");
    const first = addressOf();
    await stage.kubevirt.stop(machine);
    await stage.booksAre(`${first} vm-stopped.blue 0`);
    await stage.kubevirt.delete(machine, "Foreground");
    await stage.claimGoes("vm-stopped.blue");
    await stage.booksAre();
    await leader.stop();
  });

  it("orphans: the claim follows the VMI, and the VM that adopts it", async () => {
    const leader = stage.lead();
    const machine = await stage.started("vm-orphan");
    const first = addressOf();
    const vmi = machine.instance!.uid;
    await stage.kubevirt.delete(machine, "Orphan");
    const ownerIs = (uid: string | undefined) => (claim: kinds.StoredClaim) =>
      claim.metadata.annotations?.[marks.claimOwnerAnnotation] === uid &&
      claim.metadata.ownerReferences?.[0]?.uid === uid;
    const claim = await stage.claimIs("vm-orphan.blue", "the VMI's", ownerIs(vmi));
    expect(claim.metadata.deletionTimestamp).toBeUndefined();
    const adopter = await stage.kubevirt.create({ namespace: shop, name: "vm-orphan", nics }, machine);
    await stage.claimIs("vm-orphan.blue", "the new VM's", ownerIs(adopter.vmUid));
    await stage.booksAre(`${first} vm-orphan.blue 1`);
    await stage.kubevirt.delete(adopter);
    await stage.claimGoes("vm-orphan.blue");
    await stage.booksAre();
    await leader.stop();
  });

  it("deleted and made anew while nobody leads: the old claim is finished first", async () => {
    const first = stage.lead();
    const machine = await stage.started("vm-again");
    const { metadata } = await stage.claimIs("vm-again.blue", "made", () => true);
    await first.kill();
    await stage.kubevirt.delete(machine);
    const again = await stage.machine("vm-again");
    const starting = stage.kubevirt.start(again);
    const leader = stage.lead();
    expect(await starting).toBe(true);
    const claim = await stage.claimIs("vm-again.blue", "another", (each) => each.metadata.uid !== metadata.uid);
    expect(claim.metadata.annotations?.[marks.claimOwnerAnnotation]).toBe(again.vmUid);
    await stage.booksAre(`${addressOf()} vm-again.blue 1`);
    await stage.kubevirt.delete(again);
    await stage.booksAre();
    await leader.stop();
  });
});
