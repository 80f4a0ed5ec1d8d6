import { expect, it } from "vitest";

import { quotaAnnotation } from "../../../src/node/add/quota.ts";
import { given, network, pod } from "../fixture.ts";
import type { GetFixture } from "../suite.ts";

export function quotaStories(fixture: GetFixture): void {
  it("a namespace holds no more than its limit, over all networks; what it has stays, and room comes back", async () => {
    const daemonFixture = await fixture().daemon();
    const namespace = await fixture().namespace(fixture().fresh("limited"), { [quotaAnnotation]: "2" });
    const one = network("q1", { range: "10.6.0.0/24", network_name: "q1" });
    const two = network("q2", { range: "10.6.0.0/24", network_name: "q2", enable_overlapping_ranges: false });
    await given(daemonFixture, { ...pod("a", "ca", namespace), config: one });
    await given(daemonFixture, { ...pod("b", "cb", namespace), config: two });
    const third = await daemonFixture.ask({ command: "ADD", ...pod("c", "cc", namespace), config: one });
    expect(third).toMatchObject({ status: 1, json: { code: 101 } });
    expect(third.json.msg).toContain(quotaAnnotation);
    expect(await given(daemonFixture, { ...pod("a", "ca2", namespace), config: one })).toEqual(["10.6.0.1/24"]);
    await daemonFixture.ask({ command: "DEL", ...pod("b", "cb", namespace), config: two });
    await given(daemonFixture, { ...pod("c", "cc", namespace), config: one });
    expect(await fixture().held("network:q1 ")).toHaveLength(2);
  });

  it("daemons that race for the last of a limit never answer above it, leave nothing behind, and then fill it", async () => {
    const namespace = await fixture().namespace(fixture().fresh("raced"), { [quotaAnnotation]: "5" });
    const config = network("race", { range: "10.6.1.0/24", network_name: "race" });
    const daemonFixtures = await Promise.all(["node1", "node2", "node3"].map((node) => fixture().daemon({ node })));
    const add = (i: number) =>
      daemonFixtures[i % 3]!.ask({ command: "ADD", ...pod(`r${i}`, `c${i}`, namespace), config });
    const told = await Promise.all(Array.from({ length: 24 }, (_, i) => add(i)));
    const answers = told.filter(({ status }) => status === 0).length;
    expect(answers).toBeLessThanOrEqual(5);
    expect(new Set(told.filter(({ status }) => status !== 0).map(({ json }) => json.code))).toEqual(new Set([101]));
    expect(await fixture().held("network:race ")).toHaveLength(answers);
    // All may see too many at once. One after the other they get what is left of five, and not one more.
    const refused = told.flatMap(({ status }, i) => (status === 0 ? [] : [i]));
    const again: number[] = [];
    for (const i of refused) again.push((await add(i)).status);
    const left = 5 - answers;
    expect(again).toEqual(refused.map((_, index) => (index < left ? 0 : 1)));
    expect(await fixture().held("network:race ")).toHaveLength(5);
  });
}
