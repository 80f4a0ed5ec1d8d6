// Nobody leads, or leaders are killed at each write with the answer lost: the next leader comes to the same end.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { claimOwnerAnnotation } from "../../src/api/claims/claim-marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { forget, plug, unplug } from "./kubevirt/hotplug.ts";
import { type Leader, shop, Fixture } from "./leader-fixture.ts";

const limitMs = 300_000;
let fixture: Fixture;
const open = async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.define("blue");
};
/** A finalizer that is taken off one that is not deleted comes back: so the delete is first. */
const forceAway = async (name: string) => {
  const at = { namespace: shop, name };
  await fixture.client.delete(kinds.ipamClaims, at);
  await fixture.client.patch(kinds.ipamClaims, at, { type: "merge", body: { metadata: { finalizers: null } } });
};
const addressOf = () => [...fixture.node.given.values()].at(-1);

describe("while nobody leads", () => {
  beforeEach(open);
  afterEach(() => fixture.close());

  it("a VM is deleted: its claim and its address go when somebody leads again", async () => {
    const leader = fixture.lead();
    const machine = await fixture.started("vm1");
    await fixture.booksAre(`${addressOf()} vm1.blue 1`);
    await leader.kill();
    await fixture.kubevirt.delete(machine);
    expect(await fixture.claim("vm1.blue")).toBeDefined();
    fixture.lead();
    await fixture.claimGoes("vm1.blue");
    await fixture.booksAre();
  });

  it("a VM is deleted and made anew under its name: the old claim is finished, and the new VM gets one of its own", async () => {
    const leader = fixture.lead();
    const machine = await fixture.started("vm1");
    const { metadata } = await fixture.claimIs("vm1.blue", "made", () => true);
    await leader.kill();
    await fixture.kubevirt.delete(machine);
    const again = await fixture.machine("vm1");
    const starting = fixture.kubevirt.start(again);
    fixture.lead();
    expect(await starting).toBe(true);
    const claim = await fixture.claimIs("vm1.blue", "another", (each) => each.metadata.uid !== metadata.uid);
    expect(claim.metadata.annotations?.[claimOwnerAnnotation]).toBe(again.vmUid);
    await fixture.booksAre(`${addressOf()} vm1.blue 1`);
    expect((await fixture.held())[0]!.hold.owner.uid).toBe(claim.metadata.uid);
  });

  it("a claim is forced away and its VM deleted: the hold that is left is freed", async () => {
    const leader = fixture.lead();
    const machine = await fixture.started("vm1");
    await leader.kill();
    await forceAway("vm1.blue");
    await fixture.kubevirt.delete(machine);
    expect(await fixture.books()).toHaveLength(1);
    fixture.lead();
    await fixture.booksAre();
  });

  it("VMs are made and started: they get their claims when somebody leads", async () => {
    const machine = await fixture.machine("vm1");
    const starting = fixture.kubevirt.start(machine);
    fixture.lead();
    expect(await starting).toBe(true);
    await fixture.booksAre(`${addressOf()} vm1.blue 1`);
  });
});

interface Story {
  readonly about: string;
  tell(): Promise<void>;
}

const stories: readonly Story[] = [
  {
    about: "start, stop, start, migrate, delete",
    tell: async () => {
      const machine = await fixture.started("vm1");
      const first = addressOf();
      await fixture.kubevirt.stop(machine);
      await fixture.booksAre(`${first} vm1.blue 0`);
      await fixture.kubevirt.start(machine);
      const migration = await fixture.kubevirt.migrate(machine);
      await migration.handOver();
      await migration.succeed();
      await fixture.booksAre(`${first} vm1.blue 1`);
      await fixture.kubevirt.delete(machine, "Foreground");
      await fixture.claimGoes("vm1.blue");
      await fixture.booksAre();
    },
  },
  {
    about: "plug, unplug, orphan, adopt, force the claim away, delete",
    tell: async () => {
      const machine = await fixture.started("vm1");
      const first = addressOf();
      await plug(fixture.kubevirt, machine, { name: "second", definition: "blue" }, "in place");
      await until(async () => (await fixture.books()).length === 2, { what: "two addresses" });
      await unplug(fixture.kubevirt, machine, "second", "in place");
      await forget(fixture.kubevirt, machine, "second");
      await fixture.booksAre(`${first} vm1.blue 1`);
      await fixture.kubevirt.delete(machine, "Orphan");
      const spec = { namespace: shop, name: "vm1", nics: [{ name: "blue", definition: "blue" }] };
      const adopter = await fixture.kubevirt.create(spec, machine);
      const isAdopters = ({ metadata }: kinds.StoredClaim) =>
        metadata.annotations?.[claimOwnerAnnotation] === adopter.vmUid;
      const { metadata } = await fixture.claimIs("vm1.blue", "the adopter's", isAdopters);
      await forceAway("vm1.blue");
      const isNew = (claim: kinds.StoredClaim) => claim.metadata.uid !== metadata.uid;
      const anew = await fixture.claimIs("vm1.blue", "made anew", isNew);
      const isPassed = async () => (await fixture.held())[0]?.hold.owner.uid === anew.metadata.uid;
      await until(isPassed, { what: "the hold passed on" });
      expect(await fixture.books()).toEqual([`${first} vm1.blue 1`]);
      await fixture.kubevirt.delete(adopter);
      await fixture.claimGoes("vm1.blue");
      await fixture.booksAre();
    },
  },
];

/** Tells the story; a leader that dies is followed by one that lives. How many writes the first made. */
async function tell(story: Story, killAtWrite: number): Promise<number> {
  await open();
  try {
    const first = fixture.lead({ killAtWrite });
    let second: Leader | undefined;
    void first.died.then(() => (second = fixture.lead()));
    await story.tell();
    if (killAtWrite <= first.writes) expect(second).toBeDefined();
    return first.writes;
  } finally {
    await fixture.close();
  }
}

describe("killed at each write", () => {
  it.each(stories)(
    "$about",
    async (story) => {
      const writes = await tell(story, Number.POSITIVE_INFINITY);
      expect(writes).toBeGreaterThan(8);
      for (let killAtWrite = 1; killAtWrite <= writes; killAtWrite++) {
        await tell(story, killAtWrite).catch((error: unknown) => {
          throw new Error(`Killed at write ${killAtWrite} of ${writes}.`, { cause: error });
        });
      }
    },
    limitMs,
  );
});
