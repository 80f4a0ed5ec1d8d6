import { expect, it } from "vitest";

import { encodeFreeMap } from "../../../src/cluster/free-map.ts";
import { configMaps } from "../../../src/cluster/resources.ts";
import { parseBlock } from "../../../src/net/interval.ts";
import { parsePrefix } from "../../../src/net/prefix.ts";
import { given, network, pod } from "../fixture.ts";
import type { GetFixture } from "../suite.ts";

export function burstStories(fixture: GetFixture): void {
  it("64 at once on one node: all different, and no conflict among themselves", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("burst", { range: "10.8.0.0/24", network_name: "burst" });
    await given(daemonFixture, { ...pod("warm"), config });
    daemonFixture.calls.length = 0;
    const all = await Promise.all(
      Array.from({ length: 64 }, (_, i) => given(daemonFixture, { ...pod(`b${i}`), config })),
    );
    expect(new Set(all.flat()).size).toBe(64);
    expect(daemonFixture.calls.filter((call) => call === "POST 409")).toEqual([]);
  });

  it("five daemons at once fill a range to its last address, and none is given twice", async () => {
    const config = network("fill", { range: "10.8.1.0/26", network_name: "fill" });
    const daemonFixtures = await Promise.all([1, 2, 3, 4, 5].map((n) => fixture().daemon({ node: `fill-${n}` })));
    const told = await Promise.all(
      Array.from({ length: 70 }, (_, i) => daemonFixtures[i % 5]!.ask({ command: "ADD", ...pod(`f${i}`), config })),
    );
    const good = told
      .filter(({ status }) => status === 0)
      .flatMap(({ json }) => json.ips.map((ip: { address: string }) => ip.address));
    expect([good.length, new Set(good).size]).toEqual([62, 62]);
    expect(told.filter(({ status }) => status !== 0).map(({ json }) => json.code)).toEqual(Array(8).fill(101));
    expect(await fixture().held("network:fill ")).toHaveLength(62);
  });

  it("a free map of the leader spares the list, and what it does not know yet costs one conflict", async () => {
    const daemonFixture = await fixture().daemon();
    const map = {
      pool: "kube-system/map-10.8.3.0-24",
      prefix: parsePrefix("10.8.3.0/24"),
      domain: "network:map",
      taken: [parseBlock("10.8.3.1-10.8.3.9")],
      writtenMs: Date.now(),
      holders: 9,
    };
    await fixture().admin.create(configMaps, encodeFreeMap("kube-system", map));
    const config = network("map", { range: "10.8.3.0/24", network_name: "map" });
    expect(await given(daemonFixture, { ...pod("m1"), config })).toEqual(["10.8.3.10/24"]);
    const other = await fixture().daemon({ node: "map-2" });
    const [second] = await given(other, { ...pod("m2"), config });
    expect(Number(second!.slice("10.8.3.".length, -"/24".length))).toBeGreaterThan(10);
    expect(other.calls.filter((call) => call === "POST 409")).toHaveLength(1);
  });

  it("ADD and DEL of one attachment at once end with nothing held, whichever came first", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("cross", { range: "10.8.2.0/24", network_name: "cross" });
    await given(daemonFixture, { ...pod("warm"), config });
    const told = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const adding = daemonFixture.ask({ command: "ADD", ...pod(`x${i}`), config });
        const deleting = daemonFixture.ask({ command: "DEL", ...pod(`x${i}`), config });
        return [(await adding).status, (await deleting).status];
      }),
    );
    expect(told.map(([, status]) => status)).toEqual(Array(20).fill(0));
    await expect.poll(async () => (await fixture().held("network:cross ")).length, { timeout: 20_000 }).toBe(1);
  });
}
