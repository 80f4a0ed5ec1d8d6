// What is filled into a new pool: M1 and M2 of Harvester's webhook. M3 and M4, and what is wrong, is in
// read-pool.test.ts.
import { describe, expect, test } from "vitest";

import { fillsFor } from "./default-pool.ts";
import { readPool } from "./read-pool.ts";
import { poolObject } from "./testing/pool.ts";

const filled = (ipv4Config: object) => {
  const object = poolObject(ipv4Config);
  const { plan } = readPool(object);
  return plan && Object.fromEntries(fillsFor(object.spec, plan).map(({ path, value }) => [path.slice(17), value]));
};

describe("a new pool", () => {
  test.each([
    [
      "M1, M2 nothing but a subnet",
      { cidr: "10.1.0.0/24" },
      { serverIP: "10.1.0.1", pool: { start: "10.1.0.1", end: "10.1.0.254" } },
    ],
    [
      "M1 beside router and exclude",
      { cidr: "10.1.0.0/24", router: "10.1.0.1", pool: { exclude: ["10.1.0.2"] } },
      { serverIP: "10.1.0.3", "pool/start": "10.1.0.1", "pool/end": "10.1.0.254" },
    ],
    [
      "M1 beside a reservation",
      { cidr: "10.1.0.0/24", start: "10.1.0.9", end: "10.1.0.20", reservations: [{ ipAddress: "10.1.0.1" }] },
      { serverIP: "10.1.0.2" },
    ],
    [
      "M1 an empty text is none",
      { cidr: "10.1.0.0/24", serverIP: "", pool: { start: "10.1.0.5", end: "10.1.0.9" } },
      { serverIP: "10.1.0.1" },
    ],
    ["M2 a /30", { cidr: "10.1.0.0/30" }, { serverIP: "10.1.0.1", pool: { start: "10.1.0.1", end: "10.1.0.2" } }],
    [
      "M2 only the end is missing",
      { cidr: "10.1.0.0/24", serverIP: "10.1.0.1", pool: { start: "10.1.0.9" } },
      { "pool/end": "10.1.0.254" },
    ],
    [
      "M2 beside an empty pool, where its fellow is",
      { cidr: "10.1.0.0/24", serverIP: "10.1.0.1", pool: null, end: "10.1.0.99" },
      { start: "10.1.0.1" },
    ],
    [
      "M2 an empty pool",
      { cidr: "10.1.0.0/24", serverIP: "10.1.0.1", pool: null },
      { pool: { start: "10.1.0.1", end: "10.1.0.254" } },
    ],
    ["complete", { cidr: "10.1.0.0/24", serverIP: "10.1.0.1", start: "10.1.0.5", pool: { end: "10.1.0.9" } }, {}],
    [
      "the first host in the middle of excludes",
      { cidr: "10.0.0.0/8", pool: { start: "10.3.0.0", end: "10.4.0.0", exclude: ["10.0.0.0/15", "10.2.0.0"] } },
      { serverIP: "10.2.0.1" },
    ],
  ])("%s", (_, config, expected) => {
    expect(filled(config)).toEqual(expected);
  });

  test("what is wrong is not replaced", () => {
    expect(filled({ cidr: "10.1.0.0/24", serverIP: "zz" })).toBeUndefined();
    expect(filled({ cidr: "10.1.0.0/24", pool: { start: "zz" } })).toBeUndefined();
  });
});
