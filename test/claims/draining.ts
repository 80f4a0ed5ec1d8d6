// What one claim made by hand may hold by what its status says: whoever may make claims may write one. On every server.
import { it } from "vitest";

import * as marks from "../../src/api/claims/claim-marks.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { type Fixture, shop } from "./leader-fixture.ts";

/** Stories of one fixture, one after the other: each leaves nothing held. */
export function drainingStories(get: () => Fixture): void {
  /** `isAsked`: the network lets pods choose. */
  const define = (name: string, isAsked: boolean) =>
    get().define(name, { range: "10.9.0.0/24", network_name: "blue" }, shop, isAsked);

  it("one of each range: a status with all of them drains no pool", async () => {
    const fixture = get();
    await define("choosing", true);
    const all = Array.from({ length: 254 }, (_, index) => `10.9.0.${index + 1}/24`);
    await fixture.stake("greedy", "choosing", all.slice(20));
    const leader = fixture.lead();
    await fixture.booksAre("10.9.0.21 greedy 0");
    await fixture.claimIs("greedy", "put right", ({ status }) => status?.ips.join() === "10.9.0.21/24");
    await fixture.client.delete(kinds.ipamClaims, { namespace: shop, name: "greedy" });
    await fixture.booksAre();
    await leader.stop();
  });

  it("none where the network does not let pods choose", async () => {
    const fixture = get();
    await define("given", false);
    const leader = fixture.lead();
    const names = Array.from({ length: 20 }, (_, index) => [`squat${index + 1}`, `10.9.0.${index + 1}/24`] as const);
    for (const [name, ip] of names) await fixture.stake(name, "given", [ip]);
    for (const [name] of names) {
      await fixture.claimIs(name, "refused", ({ status }) => {
        const condition = status?.conditions?.find(({ type }) => type === marks.allocatedCondition);
        return condition?.reason === marks.allocationReasons.outOfRange;
      });
    }
    await fixture.booksAre();
    for (const [name] of names) await fixture.client.delete(kinds.ipamClaims, { namespace: shop, name });
    await leader.stop();
  });
}
