// Many VMs whose addresses are settled: a leader that begins asks nothing about any of them.
import { afterEach, beforeEach, expect, it } from "vitest";

import { ipamClaims } from "../../src/cluster/resources.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture } from "./leader-fixture.ts";

const machines = 60;

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.define("blue");
});
afterEach(() => fixture.close());

/** Every claim says its address, and the pod that is at it where one is. */
async function isTold(): Promise<boolean> {
  const { items } = await fixture.client.list(ipamClaims);
  const told = items.filter(({ status }) => (status?.ips ?? []).length > 0);
  return (
    told.length === machines && told.filter(({ status }) => status?.ownerPod !== undefined).length === machines / 2
  );
}

it("a leader that begins makes no call per VM", async () => {
  const first = fixture.lead();
  for (let index = 0; index < machines; index++) {
    const machine = await fixture.started(`vm${index}`);
    if (index % 2 === 0) await fixture.kubevirt.stop(machine);
  }
  const counted = async (leader: typeof first) =>
    (await leader.metric("holdfast_claims", { state: "RSVD" })) === machines / 2 &&
    (await leader.metric("holdfast_claims", { state: "BOUND" })) === machines / 2;
  await until(() => counted(first), { what: "all counted" });
  // Nobody writes the status for these nodes but the leader, which leaves it to a daemon for a second.
  await until(isTold, { what: "every status written" });
  await first.stop();
  const before = await fixture.books();
  const second = fixture.lead();
  await until(() => counted(second), { what: "all counted by the second" });
  const about = second.requests.filter((each) => /vm\d/.test(each));
  expect(about).toEqual([]);
  expect(second.writes).toBe(0);
  expect(await fixture.books()).toEqual(before);
  expect(before).toHaveLength(machines);
});
