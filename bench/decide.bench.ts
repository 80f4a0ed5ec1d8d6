// ns per decision, memory of a /8, rebuild of a million: the allocation core against a map per address and linear scan
//
// The peer does as whereabouts and Harvester's controller: a map from address text to owner, and a walk from the first
// address that asks the map and every excluded block. It need not build that map for every request, as they do.
import { randomUUID } from "node:crypto";

import { decide } from "../src/ipam/decide.ts";
import { BitmapOccupancy } from "../src/ipam/occupancy.ts";
import type { Owner } from "../src/ipam/owner.ts";
import { Pool } from "../src/ipam/pool.ts";
import type { Strategy } from "../src/ipam/request.ts";
import { type Address, compare, next, plus } from "../src/net/address.ts";
import { includes, type Interval, interval, intervalOf } from "../src/net/interval.ts";
import { parseCidr, type Prefix } from "../src/net/prefix.ts";
import { bytesInUse, close, nanosPerCall, nanosPerSlowCall } from "./measure.ts";

const goals = { decisionNs: 2000, bytesOfEight: 8 * 2 ** 20, rebuildMs: 1000 };
const fills = [0.01, 0.5, 0.99, 0.999];
const prefixes = ["10.0.0.0/24", "10.0.0.0/16", "10.0.0.0/8", "fd00::/64"];
/** Held addresses at most; a fill beyond that is excluded blocks, because no pool has 16 million owners. */
const heldMax = 1_000_000;
const excludedBlocks = 10_000;

const asking = Array.from({ length: 1024 }, (_, i) => pod(`asking-${i}`));

function pod(name: string): Owner {
  return { kind: "pod", uid: randomUUID(), namespace: "bench", name, interface: "net1", containerId: name };
}

interface Filled {
  readonly prefix: Prefix;
  readonly held: readonly { readonly address: Address; readonly owner: Owner }[];
  readonly excludes: readonly Interval[];
}

/** From the bottom: the excluded blocks, then the held addresses, so that the lowest free one lies behind them all. */
function fill(prefix: Prefix, part: number): Filled {
  // A /64 is never full: its fill is that of its first 2^20 addresses.
  const span = 2 ** Math.min(prefix.hostBits, prefix.family === 6 ? 20 : 24);
  const wanted = Math.max(1, Math.floor((span - 2) * part));
  const held = Math.min(wanted, heldMax);
  const excluded = wanted - held;
  const at = (offset: number) => plus(prefix.first, 1 + offset)!;
  const excludes: Interval[] = [];
  const size = Math.ceil(excluded / excludedBlocks);
  for (let from = 0; from < excluded; from += size) {
    excludes.push(interval(at(from), at(Math.min(from + size, excluded) - 1)));
  }
  // Through JSON, as a journal or an API server brings them: their strings are flat and have never been hashed.
  const owners = JSON.parse(JSON.stringify(Array.from({ length: held }, (_, i) => pod(`p${i}`)))) as Owner[];
  return { prefix, held: owners.map((owner, i) => ({ address: at(excluded + i), owner })), excludes };
}

function poolOf({ prefix, held, excludes }: Filled): Pool {
  const pool = new Pool({ prefix, excludes, cooldownMs: 0 }, () => 0);
  for (const { address, owner } of held) pool.take(address, owner);
  return pool;
}

/** The peer: see the top. */
function linearScan({ prefix, held, excludes }: Filled): () => Address | undefined {
  const reserved = new Map(held.map(({ address, owner }) => [String(address), owner]));
  const { last } = intervalOf(prefix);
  return () => {
    for (let at = next(prefix.first); at !== undefined && compare(at, last) < 0;) {
      if (reserved.has(String(at))) {
        at = next(at);
        continue;
      }
      const here: Address = at;
      const block: Interval | undefined = excludes.find((each) => includes(each, here));
      if (block === undefined) return at;
      at = next(block.last);
    }
    return undefined;
  };
}

/** The median of nine batches; a decision of any strategy must find an address. */
function decisionNs(pool: Pool, strategy: Strategy): number {
  const call = (i: number) => {
    const decision = decide(pool, { owner: asking[i & 1023]!, strategy }, Math.random);
    if (decision.kind === "refusal") throw new Error(decision.message);
  };
  return nanosPerCall(call, 20_000);
}

const rows: { prefix: string; fill: number; oursNs: number; peerNs: number; spreadNs: number; randomNs: number }[] = [];
console.log("prefix        full     ours ns   (spread, random)      peer ns   ratio");
for (const text of prefixes) {
  for (const part of fills) {
    const filled = fill(parseCidr(text).prefix, part);
    const pool = poolOf(filled);
    const oursNs = decisionNs(pool, { kind: "lowest" });
    const spreadNs = decisionNs(pool, { kind: "spread", stripes: 16, first: 5, step: 3 });
    const randomNs = decisionNs(pool, { kind: "random" });
    const peerNs = nanosPerSlowCall(linearScan(filled), 300);
    rows.push({ prefix: text, fill: part, oursNs, peerNs, spreadNs, randomNs });
    console.log(
      `${text.padEnd(12)} ${`${part * 100} %`.padStart(6)} ${oursNs.toFixed(0).padStart(10)}   ` +
        `(${spreadNs.toFixed(0).padStart(5)}, ${randomNs.toFixed(0).padStart(5)}) ` +
        `${peerNs.toFixed(0).padStart(15)} ${(peerNs / oursNs).toFixed(0).padStart(7)}`,
    );
  }
}

/** The costliest /8 there is for a bitmap: every page in use, none full. Then the same full to the last address. */
function memoryOfEight(): { half: number; full: number; pool: number } {
  const run = intervalOf(parseCidr("10.0.0.0/8").prefix);
  const base = bytesInUse();
  const occupancy = new BitmapOccupancy(run);
  for (let offset = 0; offset < 2 ** 24; offset += 2) occupancy.add(plus(run.first, offset)!);
  const half = bytesInUse() - base;
  for (let offset = 1; offset < 2 ** 24; offset += 2) occupancy.add(plus(run.first, offset)!);
  const full = bytesInUse() - base;
  if (occupancy.free() !== 0n) throw new Error("the /8 is not full");
  const empty = bytesInUse();
  const pool = new Pool({ prefix: parseCidr("10.0.0.0/8").prefix }, () => 0);
  const cost = bytesInUse() - empty;
  if (pool.counts().allocated !== 0) throw new Error("the pool is not empty");
  return { half, full, pool: cost };
}

const mebi = (bytes: number) => (bytes / 2 ** 20).toFixed(2);
const memory = memoryOfEight();
console.log(
  `a /8: ${mebi(memory.half)} MiB with every second address taken, ${mebi(memory.full)} MiB full, ${mebi(memory.pool)} MiB empty`,
);

const million = fill(parseCidr("10.0.0.0/12").prefix, 0.9999);
const rebuilds = Array.from({ length: 5 }, () => {
  const before = bytesInUse();
  const started = performance.now();
  const pool = poolOf(million);
  const ms = performance.now() - started;
  return { ms, bytes: (bytesInUse() - before) / pool.counts().allocated };
});
const rebuildMs = rebuilds[0]!.ms; // the first, cold: a restart has no second
console.log(
  `rebuild of ${million.held.length} allocations: ${rebuildMs.toFixed(0)} ms cold, then ` +
    `${rebuilds
      .slice(1)
      .map(({ ms }) => ms.toFixed(0))
      .join(", ")} ms; ${rebuilds[1]!.bytes.toFixed(0)} bytes each beside address and owner`,
);

const worst = rows.reduce((a, b) => (b.oursNs > a.oursNs ? b : a));
const slowest = Math.max(...rows.flatMap(({ oursNs, spreadNs, randomNs }) => [oursNs, spreadNs, randomNs]));
const bytesOfEight = Math.max(memory.half, memory.full, memory.pool);
const met = slowest < goals.decisionNs && bytesOfEight < goals.bytesOfEight && rebuildMs < goals.rebuildMs;
close({
  bench: "decide",
  ours: Math.round(worst.oursNs),
  peer: Math.round(worst.peerNs),
  ratio: Number((worst.peerNs / worst.oursNs).toFixed(1)),
  unit: "ns/decision",
  at: `${worst.prefix} ${worst.fill * 100} % full, the slowest of ${rows.length} for us`,
  slowestOfAnyStrategyNs: Math.round(slowest),
  bytesOfSlashEight: bytesOfEight,
  rebuildMillionMs: Math.round(rebuildMs),
  goals,
  goalsMet: met,
});
