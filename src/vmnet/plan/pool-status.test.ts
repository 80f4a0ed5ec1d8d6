// What a pool's status shows where one object cannot carry all of its addresses.
import { describe, expect, test } from "vitest";

import { parseAddress, plus } from "../../net/address.ts";
import { planned, poolObject } from "../rules/testing/pool.ts";
import type { NicHold } from "./nic-hold.ts";
import { shownMax, statusOfPool } from "./pool-status.ts";

const plan = planned({ cidr: "10.0.0.0/8", serverIP: "10.0.0.2", pool: { exclude: ["10.9.0.0/24"] } });
const first = parseAddress("10.1.0.0");

function held(index: number): NicHold {
  const nic = `02:00:00:${[index >> 16, index >> 8, index].map((part) => (part & 255).toString(16).padStart(2, "0")).join(":")}`;
  const owner = { kind: "nic", uid: `u-${index}`, namespace: "tenant-a", name: `vm-${index}`, nic } as const;
  return { domain: plan.domain, address: plus(first, index)!, owner, version: "1" };
}

function statusOf(count: number) {
  const pool = { apiVersion: "", kind: "", ...poolObject({}) } as never;
  const shown = Array.from({ length: Math.min(count, shownMax[4]) }, (_, index) => held(index));
  const none = { used: 0, shown: [], free: 0n };
  const use = { plan, ipv4: { used: count, shown, free: 7n }, ipv6: none };
  return statusOfPool({ pool, use, conditions: [], nowMs: 0 }).ipv4!;
}

describe("a pool's status", () => {
  test("has every address, and what is withheld, while there is room", () => {
    const { allocated = {}, ...rest } = statusOf(3);
    expect(rest).toEqual({ used: 3, available: 7 });
    expect(Object.values(allocated).filter((value) => value === "EXCLUDED")).toHaveLength(256);
    expect(allocated).toMatchObject({ "10.1.0.2": "02:00:00:00:00:02", "10.0.0.2": "RESERVED" });
  });

  test("has the first 20,000 of more, counts all of them, says so, and fits into an object", () => {
    const { allocated = {}, ...rest } = statusOf(30_000);
    expect(rest).toEqual({ used: 30_000, available: 7, allocatedTruncated: true });
    expect(Object.keys(allocated)).toHaveLength(20_000);
    expect(allocated["10.1.0.0"]).toBe("02:00:00:00:00:00");
    expect(JSON.stringify(allocated).length).toBeLessThan(1_000_000);
  });
});
