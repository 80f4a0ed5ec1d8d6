// Acquire where the ledger fails: what the ledger suite cannot provoke in every ledger.
import { describe, expect, it } from "vitest";

import { parseAddress } from "../net/address.ts";
import { parseCidr } from "../net/prefix.ts";
import { acquire } from "./acquire.ts";
import { type Ledger, LedgerError, type TakeOutcome } from "./ledger.ts";
import { type Owner, ownerKey } from "./owner.ts";
import { Pool } from "./pool.ts";
import type { Want } from "./request.ts";
import { MemoryLedger, MemoryStore } from "./testing/memory-ledger.ts";

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

  it("keeps a resting address for its last owner when the ledger is away for a moment", async () => {
    const inner = memory();
    const pool = new Pool({ prefix: parseCidr("10.0.0.0/24").prefix, cooldownMs: 30_000 }, () => 0);
    pool.take(parseAddress("10.0.0.9"), owner);
    pool.releaseOwner(owner);
    const { ledger: away } = failing(async () => Promise.reject(new LedgerError("unavailable", "away.")));
    await expect(acquire({ ledger: away, domain, pool, request: { owner }, random: () => 0 })).rejects.toThrow();
    expect(pool.counts()).toMatchObject({ allocated: 0, quarantined: 1 });
    const result = await acquire({ ledger: inner, domain, pool, request: { owner }, random: () => 0 });
    expect(result.kind === "acquired" && String(result.hold.address)).toBe("10.0.0.9");
  });

  it("does not say that nothing was written when an earlier try may have been", async () => {
    const { ledger } = failing(async (inner, call) => {
      if (call > 1) throw new LedgerError("unavailable", "the API server refused the connection.");
      await inner.take({ domain, address: parseAddress("10.0.0.1"), owner });
      throw new LedgerError("outcome-unknown", "the connection broke.");
    });
    ledger.find = async () => Promise.reject(new LedgerError("unavailable", "the API server refused the connection."));
    const attempt = acquire({ ledger, domain, pool: newPool(), request: { owner }, random: () => 0 });
    await expect(attempt).rejects.toMatchObject({ code: "outcome-unknown" });
  });

  it("goes back to the same address after an outcome that was not known, although others ask meanwhile", async () => {
    const inner = memory();
    const pool = newPool();
    const { ledger: lost } = failing(async (_, call) => {
      if (call === 1) await inner.take({ domain, address: parseAddress("10.0.0.1"), owner });
      throw new LedgerError("outcome-unknown", "the connection broke.");
    });
    await expect(acquire({ ledger: lost, domain, pool, request: { owner }, random: () => 0 })).rejects.toThrow();
    const other: Owner = { ...owner, uid: "other" };
    const asked = [other, owner].map((each) =>
      acquire({ ledger: inner, domain, pool, request: { owner: each }, random: () => 0 }),
    );
    const shown = (await Promise.all(asked)).map((each) => each.kind === "acquired" && String(each.hold.address));
    expect(shown).toEqual(["10.0.0.2", "10.0.0.1"]);
    expect(await inner.find(domain, ownerKey(owner))).toHaveLength(1);
  });

  it("lets a request of the same owner wait for the one before, and be called off while it waits", async () => {
    const gate = Promise.withResolvers<void>();
    const { ledger } = failing(async (inner) => {
      await gate.promise;
      return inner.take({ domain, address: parseAddress("10.0.0.1"), owner });
    });
    const pool = newPool();
    const ask = (signal?: AbortSignal) =>
      acquire({ ledger, domain, pool, request: { owner }, random: () => 0, ...(signal && { signal }) });
    const abort = new AbortController();
    const [first, second, third] = [ask(), ask(abort.signal), ask()];
    abort.abort();
    await expect(second).rejects.toThrow("abort");
    gate.resolve();
    expect(await first).toMatchObject({ kind: "acquired" });
    expect(await third).toMatchObject({ kind: "acquired" });
  });

  it("decides anew where another request has taken the next candidate meanwhile", async () => {
    const addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"].map((text) => parseAddress(text));
    const range = { start: addresses[0]!, end: addresses[3]! };
    const pool = new Pool({ prefix: parseCidr("10.0.0.0/24").prefix, ...range, cooldownMs: 30_000 }, () => 0);
    const inner = memory();
    for (const [i, address] of addresses.entries()) {
      pool.cool({ address, untilMs: 1000 + i, lastOwner: ownerKey({ ...owner, uid: `gone-${i}` }) });
      if (i < 3) await inner.take({ domain, address, owner: { ...owner, uid: `x-${i}` } });
    }
    const other: Owner = { ...owner, uid: "other" };
    const { ledger } = failing(async (_, call) => {
      if (call === 3) await acquire({ ledger: inner, domain, pool, request: { owner: other }, random: () => 0 });
      return inner.take({ domain, address: addresses[call - 1]!, owner, early: true });
    });
    const result = await acquire({ ledger, domain, pool, request: { owner }, random: () => 0 });
    expect(result).toMatchObject({ kind: "refusal", code: "exhausted" });
    expect(pool.ownerAt(addresses[3]!)).toEqual(other);
  });

  it.each<[string, () => Promise<TakeOutcome>]>([
    ["fails", async () => Promise.reject(new LedgerError("unavailable", "away."))],
    ["is refused", async () => ({ outcome: "cooling", untilMs: 1000, lastOwner: ownerKey({ ...owner, uid: "gone" }) })],
  ])("leaves what the picture has learnt meanwhile when the take %s", async (_what, answer) => {
    const pool = newPool("10.0.0.0/32");
    const other: Owner = { ...owner, uid: "other" };
    const { ledger } = failing(async () => {
      pool.learn(parseAddress("10.0.0.0"), other);
      return answer();
    });
    await acquire({ ledger, domain, pool, request: { owner }, random: () => 0 }).catch(() => {});
    expect(pool.ownerAt(parseAddress("10.0.0.0"))).toEqual(other);
  });

  it("follows the picture where it learns meanwhile what the owner holds", async () => {
    const inner = memory();
    await inner.take({ domain, address: parseAddress("10.0.0.1"), owner: { ...owner, uid: "other" } });
    await inner.take({ domain, address: parseAddress("10.0.0.9"), owner });
    const pool = newPool();
    const ledger: Ledger = {
      take: (request) => {
        if (String(request.address) === "10.0.0.1") pool.learn(parseAddress("10.0.0.9"), owner); // a watch says so
        return inner.take(request);
      },
      release: (request) => inner.release(request),
      find: (where, key) => inner.find(where, key),
      list: (where) => inner.list(where),
    };
    const result = await acquire({ ledger, domain, pool, request: { owner }, random: () => 0 });
    expect(result.kind === "acquired" && String(result.hold.address)).toBe("10.0.0.9");
    expect(await inner.find(domain, ownerKey(owner))).toHaveLength(1);
  });

  it("asks early again for what it may have got early", async () => {
    const inner = memory();
    const address = parseAddress("10.0.0.0");
    const gone = ownerKey({ ...owner, uid: "gone" });
    await inner.take({ domain, address, owner: { ...owner, uid: "gone" } });
    await inner.release({ domain, address, owner: gone, cooldownMs: 30_000 });
    const pool = new Pool({ prefix: parseCidr("10.0.0.0/32").prefix, cooldownMs: 30_000 }, () => 0);
    pool.cool({ address, untilMs: 30_000, lastOwner: gone });
    const { ledger: lost } = failing(async () => Promise.reject(new LedgerError("outcome-unknown", "it broke.")));
    await expect(acquire({ ledger: lost, domain, pool, request: { owner }, random: () => 0 })).rejects.toThrow();
    const result = await acquire({ ledger: inner, domain, pool, request: { owner }, random: () => 0 });
    expect(result).toMatchObject({ kind: "acquired", early: true, conflicts: 0 });
  });

  it("trusts its own doubt more than an old word about the same owner", async () => {
    const inner = memory();
    const pool = newPool();
    const { ledger: lost } = failing(async (_, call) => {
      if (call === 1) await inner.take({ domain, address: parseAddress("10.0.0.1"), owner });
      throw new LedgerError("outcome-unknown", "the connection broke.");
    });
    await expect(acquire({ ledger: lost, domain, pool, request: { owner }, random: () => 0 })).rejects.toThrow();
    const { ledger: old } = failing(async (_, call) =>
      call === 1
        ? { outcome: "held", hold: { domain, address: parseAddress("10.0.0.2"), owner, version: "0" } }
        : inner.take({ domain, address: parseAddress("10.0.0.3"), owner: { ...owner, uid: "other" } }),
    );
    await acquire({ ledger: old, domain, pool, request: { owner: { ...owner, uid: "other" } }, random: () => 0 });
    await acquire({ ledger: inner, domain, pool, request: { owner }, random: () => 0 });
    expect((await inner.find(domain, ownerKey(owner))).map(({ address }) => String(address))).toEqual(["10.0.0.1"]);
  });

  it("stays with the address it knows where the ledger shows two of this owner", async () => {
    const inner = memory();
    for (const text of ["10.0.0.3", "10.0.0.7"]) await inner.take({ domain, address: parseAddress(text), owner });
    const pool = newPool();
    pool.take(parseAddress("10.0.0.7"), owner);
    const result = await acquire({ ledger: inner, domain, pool, request: { owner }, random: () => 0, lookFirst: true });
    expect(result.kind === "acquired" && String(result.hold.address)).toBe("10.0.0.7");
  });

  it("leaves no mark when it was called off before it began", async () => {
    const pool = newPool();
    const signal = AbortSignal.abort();
    const attempt = acquire({ ledger: memory(), domain, pool, request: { owner }, random: () => 0, signal });
    await expect(attempt).rejects.toThrow("abort");
    expect(pool.counts().allocated).toBe(0);
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

  it.each<[string, Want, string, number]>([
    ["goes by what it hears after a conflict", { kind: "any" }, "10.0.0.9", 1],
    ["does not ask where no other address will do", { kind: "given", address: parseAddress("10.0.0.1") }, "refused", 0],
  ])("%s", async (_what, want, expected, looks) => {
    const inner = memory();
    await inner.take({ domain, address: parseAddress("10.0.0.1"), owner: { ...owner, uid: "other" } });
    const pool = newPool();
    let looked = 0;
    const lookAgain = async () => {
      looked += 1;
      pool.suppose([{ first: parseAddress("10.0.0.1"), last: parseAddress("10.0.0.8") }]);
    };
    const result = await acquire({
      ledger: inner,
      domain,
      pool,
      request: { owner, want },
      random: () => 0,
      lookAgain,
    });
    expect([result.kind === "acquired" ? String(result.hold.address) : "refused", looked]).toEqual([expected, looks]);
  });

  it("returns a refusal without touching the ledger", async () => {
    const { ledger, calls } = failing((inner) => inner.take({ domain, address: newPool().usable.first, owner }));
    const pool = newPool("10.0.0.0/30");
    for (const [i, address] of [pool.usable.first, pool.usable.last].entries())
      pool.take(address, { ...owner, uid: `x${i}` });
    expect(await acquire({ ledger, domain, pool, request: { owner }, random: () => 0 })).toMatchObject({
      code: "exhausted",
    });
    expect(calls()).toBe(0);
  });
});
