// VMs gone all at once, as a returning leader finds them: nothing of their namespace is freed until somebody says so.
import { afterEach, beforeEach, expect, it } from "vitest";

import { massReleaseAnnotation } from "../../src/api/claims/claim-marks.ts";
import { namespaces } from "../../src/cluster/resources.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture } from "./leader-fixture.ts";

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.define("blue");
});
afterEach(() => fixture.close());

const held = (count: number, what: string) => until(async () => (await fixture.books()).length === count, { what });

/** 60 VMs of one namespace of which 59 are deleted while nobody leads, and one of another namespace. */
async function deletedUnseen() {
  const first = fixture.lead();
  await fixture.client.create(namespaces, { metadata: { name: "bank" } });
  await fixture.define("blue", {}, "bank");
  const machines = await Promise.all(Array.from({ length: 60 }, (_, index) => fixture.started(`vm${index}`)));
  const other = await fixture.started("other", { namespace: "bank" });
  await held(61, "61 addresses");
  await first.kill();
  for (const machine of machines.slice(1)) await fixture.kubevirt.delete(machine);
  return other;
}

it(
  "VMs of one namespace: none of their claims ends, and it is said; other namespaces and VMs that live go on; a word on the namespace frees them",
  { timeout: 240_000 },
  async () => {
    const other = await deletedUnseen();
    const leader = fixture.lead();
    const isStopped = (namespace: string) => leader.metric("holdfast_claims_held_back", { namespace });
    await until(async () => (await isStopped("shop")) === 1, { what: "the breaker" });
    await until(async () => (await fixture.events()).some((each) => each.includes("ClaimsHeldBack")), {
      what: "the event",
    });
    await fixture.started("late");
    await held(62, "a new VM's address");
    await fixture.kubevirt.delete(other);
    await held(61, "the address of a VM of another namespace to be freed");
    expect(await isStopped("")).toBe(0);
    const body = { metadata: { annotations: { [massReleaseAnnotation]: "59" } } };
    await fixture.client.patch(namespaces, { name: "shop" }, { type: "merge", body });
    await held(2, "all but the two that live to be freed");
    expect(await isStopped("shop")).toBe(0);
  },
);

it("the word for all of them frees them", { timeout: 240_000 }, async () => {
  await deletedUnseen();
  fixture.lead({ allowMassRelease: true });
  await held(2, "all but the two that live to be freed");
});

it("whoever deletes a namespace means all of its VMs", { timeout: 240_000 }, async () => {
  await deletedUnseen();
  await fixture.client.delete(namespaces, { name: "shop" });
  const leader = fixture.lead();
  await until(
    async () =>
      (await fixture.held()).every(({ hold }) => hold.owner.name === "vm0.blue" || hold.owner.namespace === "bank"),
    {
      what: "the addresses of VMs that are gone to be freed",
    },
  );
  expect(await leader.metric("holdfast_claims_held_back", { namespace: "shop" })).toBe(0);
});
