// A pool of 5,000 nodes, on the real object: below the 512 KiB at which a write burdens etcd and all who follow it.
import { expect, it } from "vitest";

import * as kinds from "../../src/cluster/resources.ts";
import { Fixture } from "./leader-fixture.ts";

const nodes = 5000;
const limitMs = 300_000;

it(
  "5,000 nodes: the NodeSlicePool is below 512 KiB, and each node's Lease below 1 KiB",
  async () => {
    const fixture = await Fixture.open();
    try {
      for (let i = 0; i < nodes; i++) {
        const name = `ip-10-0-${i >> 8}-${i & 255}.eu-central-1.compute.internal`;
        await fixture.client.create(kinds.nodes, { metadata: { name } });
      }
      await fixture.define("a", { range: "10.0.0.0/8", network_name: "blue", node_slice_size: "/21" });
      const leader = fixture.lead();
      await fixture.until(
        "all have a slice",
        async () => (await fixture.client.list(kinds.leases)).items.length >= nodes,
        3000,
      );
      const pool = await fixture.pool("blue");
      expect(pool.status?.allocations).toHaveLength(nodes);
      expect(JSON.stringify(pool).length).toBeLessThan(512 * 1024);
      const { items } = await fixture.client.list(kinds.leases);
      for (const lease of items) expect(JSON.stringify(lease).length).toBeLessThan(1024);
      // Made, granted, named in the Lease; and some for the pool, its status and the state.
      expect(leader.writes).toBeLessThan(3 * nodes + 50);
      const before = leader.writes;
      for (let step = 0; step < 100; step++) await fixture.pass(500);
      expect(leader.writes).toBe(before);
    } finally {
      await fixture.close();
    }
  },
  limitMs,
);
