// What happens while nobody leads, and leaders that are killed at each of their writes with the answer lost: whoever leads next comes to
// the same end.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { claimOwnerAnnotation } from "../../src/api/claims/claim-marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { forget, plug, unplug } from "./kubevirt/hotplug.ts";
import { type Leader, shop, Stage } from "./leader-stage.ts";

const limitMs = 300_000;
let stage: Stage;
const open = async () => {
  stage = await Stage.open(await embeddedServer());
  await stage.define("blue");
};
/** A finalizer that is taken off one that is not deleted comes back: so the delete is first. */
const forceAway = async (name: string) => {
  const at = { namespace: shop, name };
  await stage.client.delete(kinds.ipamClaims, at);
  await stage.client.patch(kinds.ipamClaims, at, { type: "merge", body: { metadata: { finalizers: null } } });
};
const addressOf = () => [...stage.node.given.values()].at(-1);

describe("while nobody leads", { timeout: 60_000 }, () => {
  beforeEach(open);
  afterEach(() => stage.close());

  it("a VM is deleted: its claim and its address go when somebody leads again", async () => {
    const leader = stage.lead();
    const machine = await stage.started("vm1");
    await stage.booksAre(`${addressOf()} vm1.blue 1`);
    await leader.kill();
    await stage.kubevirt.delete(machine);
    expect(await stage.claim("vm1.blue")).toBeDefined();
    stage.lead();
    await stage.claimGoes("vm1.blue");
    await stage.booksAre();
  });

  it("a VM is deleted and made anew under its name: the old claim is finished, and the new VM gets one of its own", async () => {
    const leader = stage.lead();
    const machine = await stage.started("vm1");
    const { metadata } = await stage.claimIs("vm1.blue", "made", () => true);
    await leader.kill();
    await stage.kubevirt.delete(machine);
    const again = await stage.machine("vm1");
    const starting = stage.kubevirt.start(again);
    stage.lead();
    expect(await starting).toBe(true);
    const claim = await stage.claimIs("vm1.blue", "another", (each) => each.metadata.uid !== metadata.uid);
    expect(claim.metadata.annotations?.[claimOwnerAnnotation]).toBe(again.vmUid);
    await stage.booksAre(`${addressOf()} vm1.blue 1`);
    expect((await stage.held())[0]!.hold.owner.uid).toBe(claim.metadata.uid);
  });

  it("a claim is forced away and its VM deleted: the hold that is left is freed", async () => {
    const leader = stage.lead();
    const machine = await stage.started("vm1");
    await leader.kill();
    await forceAway("vm1.blue");
    await stage.kubevirt.delete(machine);
    expect(await stage.books()).toHaveLength(1);
    stage.lead();
    await stage.booksAre();
  });

  it("VMs are made and started: they get their claims when somebody leads", async () => {
    const machine = await stage.machine("vm1");
    const starting = stage.kubevirt.start(machine);
    stage.lead();
    expect(await starting).toBe(true);
    await stage.booksAre(`${addressOf()} vm1.blue 1`);
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
      const machine = await stage.started("vm1");
      const first = addressOf();
      await stage.kubevirt.stop(machine);
      await stage.booksAre(`${first} vm1.blue 0`);
      await stage.kubevirt.start(machine);
      const migration = await stage.kubevirt.migrate(machine);
      await migration.handOver();
      await migration.succeed();
      await stage.booksAre(`${first} vm1.blue 1`);
      await stage.kubevirt.delete(machine, "Foreground");
      await stage.claimGoes("vm1.blue");
      await stage.booksAre();
    },
  },
  {
    about: "plug, unplug, orphan, adopt, force the claim away, delete",
    tell: async () => {
      const machine = await stage.started("vm1");
      const first = addressOf();
      await plug(stage.kubevirt, machine, { name: "second", definition: "blue" }, "in place");
      await until(async () => (await stage.books()).length === 2, { what: "two addresses" });
      await unplug(stage.kubevirt, machine, "second", "in place");
      await forget(stage.kubevirt, machine, "second");
      await stage.booksAre(`${first} vm1.blue 1`);
      await stage.kubevirt.delete(machine, "Orphan");
      const spec = { namespace: shop, name: "vm1", nics: [{ name: "blue", definition: "blue" }] };
      const adopter = await stage.kubevirt.create(spec, machine);
      const isAdopters = ({ metadata }: kinds.StoredClaim) =>
        metadata.annotations?.[claimOwnerAnnotation] === adopter.vmUid;
      const { metadata } = await stage.claimIs("vm1.blue", "the adopter's", isAdopters);
      await forceAway("vm1.blue");
      const isNew = (claim: kinds.StoredClaim) => claim.metadata.uid !== metadata.uid;
      const anew = await stage.claimIs("vm1.blue", "made anew", isNew);
      const isPassed = async () => (await stage.held())[0]?.hold.owner.uid === anew.metadata.uid;
      await until(isPassed, { what: "the hold passed on" });
      expect(await stage.books()).toEqual([`${first} vm1.blue 1`]);
      await stage.kubevirt.delete(adopter);
      await stage.claimGoes("vm1.blue");
      await stage.booksAre();
    },
  },
];

/** Tells the story; a leader that dies is followed by one that lives. How many writes the first made. */
async function tell(story: Story, killAtWrite: number): Promise<number> {
  await open();
  try {
    const first = stage.lead({ killAtWrite });
    let second: Leader | undefined;
    void first.died.then(() => (second = stage.lead()));
    await story.tell();
    if (killAtWrite <= first.writes) expect(second).toBeDefined();
    return first.writes;
  } finally {
    await stage.close();
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
