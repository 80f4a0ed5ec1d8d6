// Acquire where the ledger fails: what the ledger suite cannot provoke in every ledger.
import { describe, expect, it } from "vitest";

import { parseCidr } from "../net/prefix.ts";
import { acquire } from "./acquire.ts";
import { type Ledger, LedgerError, type TakeOutcome } from "./ledger.ts";
import { MemoryLedger, MemoryStore } from "./memory-ledger.ts";
import type { Owner } from "./owner.ts";
import { Pool } from "./pool.ts";

const owner: Owner = { kind: "pod", uid: "u", namespace: "default", name: "web-0", interface: "eth0" };
const domain = "net-a";
const newPool = (prefix = "10.0.0.0/24") => new Pool({ prefix: parseCidr(prefix).prefix, cooldownMs: 0 }, () => 0);
const memory = () => new MemoryLedger(new MemoryStore(), { now: () => 0 });

function failing(take: (ledger: Ledger, call: number) => Promise<TakeOutcome>): {
  ledger: Ledger;
  calls: () => number;
} {
  const inner = memory();
  let calls = 0;
  const ledger: Ledger = {
    take: () => take(inner, (calls += 1)),
    release: (request) => inner.release(request),
    find: (where, key) => inner.find(where, key),
    list: (where) => inner.list(where),
  };
  return { ledger, calls: () => calls };
}

describe("acquire", () => {
  it("gives up when the ledger is away, says for whom and where, and leaves the picture as it was", async () => {
    const { ledger } = failing(async () => {
      throw new LedgerError("unavailable", "the API server refused the connection.");
    });
    const pool = newPool();
    const attempt = acquire({ ledger, domain, pool, request: { owner }, random: () => 0 });
    await expect(attempt).rejects.toMatchObject({
      code: "unavailable",
      message: "pod default/web-0 (eth0) got no address in net-a: the API server refused the connection.",
    });
    expect(pool.counts()).toMatchObject({ allocated: 0, free: 254n });
  });

  it("stops after five lost replies in a row, as unknown", async () => {
    const { ledger, calls } = failing(async () => {
      throw new LedgerError("outcome-unknown", "the connection broke.");
    });
    const attempt = acquire({ ledger, domain, pool: newPool(), request: { owner }, random: () => 0 });
    await expect(attempt).rejects.toMatchObject({ code: "outcome-unknown" });
    expect(calls()).toBe(5);
  });

  it("passes on what is no ledger error unchanged", async () => {
    const bug = new TypeError("a bug");
    const { ledger } = failing(async () => {
      throw bug;
    });
    await expect(acquire({ ledger, domain, pool: newPool(), request: { owner }, random: () => 0 })).rejects.toBe(bug);
  });

  it("ends after 64 addresses that others took first, and asks to try again", async () => {
    const other: Owner = { ...owner, uid: "other" };
    let serial = 0;
    const inner = memory();
    const ledger: Ledger = {
      take: async ({ address }) => ({
        outcome: "held",
        hold: { domain, address, owner: { ...other, uid: `o${(serial += 1)}` }, version: "1" },
      }),
      release: (request) => inner.release(request),
      find: (where, key) => inner.find(where, key),
      list: (where) => inner.list(where),
    };
    const pool = newPool("10.0.0.0/16");
    const result = await acquire({ ledger, domain, pool, request: { owner }, random: () => 0 });
    expect(result).toMatchObject({ kind: "refusal", code: "exhausted" });
    expect(result.kind === "refusal" && result.message).toContain("Try again.");
    expect(serial).toBe(64);
    expect(pool.counts().allocated).toBe(64);
  });

  it("returns a refusal without touching the ledger", async () => {
    const { ledger, calls } = failing((inner) => inner.take({ domain, address: newPool().usable!.first, owner }));
    const pool = newPool("10.0.0.0/30");
    for (const [i, address] of [pool.usable!.first, pool.usable!.last].entries())
      pool.take(address, { ...owner, uid: `x${i}` });
    expect(await acquire({ ledger, domain, pool, request: { owner }, random: () => 0 })).toMatchObject({
      code: "exhausted",
    });
    expect(calls()).toBe(0);
  });
});
