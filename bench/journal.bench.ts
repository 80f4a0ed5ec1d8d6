// takes/s of a node's journal with 1, 64 and 1,000 waiting, a restart with 1,000,000 holds; against an fsync per take
//
// The peer writes the same lines to the same disk, with an fdatasync per take: a journal without group commit. Beside
// it, node:sqlite with the same lines, in this thread or its own (docs/decisions/0017): speed, and event loop stalls.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";

import type { Owner } from "../src/ipam/owner.ts";
import { RestClock } from "../src/ledger/journal/cooldown-clock.ts";
import { realJournalDisk } from "../src/ledger/journal/disk.ts";
import { encodeFrame } from "../src/ledger/journal/frame.ts";
import type { JournalGrant } from "../src/ledger/journal/grant.ts";
import { Journal } from "../src/ledger/journal/journal.ts";
import { decodeRecord, encodeRecord, type JournalRecord } from "../src/ledger/journal/record.ts";
import { State } from "../src/ledger/journal/state.ts";
import { plus } from "../src/net/address.ts";
import { parsePrefix } from "../src/net/prefix.ts";
import { readAll, sqliteHere, sqliteThread, type Store } from "./journal/sqlite.ts";
import { bytesInUse, close } from "./measure.ts";

/** DESIGN: ready in less than 5 s. */
const goals = { openMs: 5000, ratioAt64: 4 };
const domain = "slice:kube-system/bench";
const slice = parsePrefix("10.0.0.0/8");
const key = "kube-system/bench-10.0.0.0-8-node";
const grant: JournalGrant = {
  key,
  domain,
  namespace: "kube-system",
  network: "bench",
  range: slice,
  slice,
  generation: 1,
  serial: 1,
  phase: "active",
  without: [],
  taken: [],
  sealed: false,
  moved: [],
};
const held = Number(process.env["BENCH_HOLDS"] ?? 1_000_000);
/** On the disk that is to be measured. */
const folder = process.argv[2] ?? mkdtempSync(join(process.env["BENCH_FOLDER"] ?? tmpdir(), "holdfast-bench-journal-"));
const stages = [
  [1, 2000],
  [64, 50_000],
  [1000, 200_000],
] as const;
const now = () => Date.now();

const addressOf = (i: number) => plus(slice.first, i + 1)!;
const owner = (i: number): Owner => ({
  kind: "pod",
  uid: `6f1c3a52-7d1e-4b6f-9c1d-${String(i).padStart(12, "0")}`,
  namespace: `team-${i % 50}`,
  name: `web-7d4b9c6f5b-${i.toString(36)}`,
  interface: `net${i % 10}`,
  containerId: `${i.toString(16).padStart(12, "0")}a3f19b7c5d2e4f60718293a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8`,
});

interface Rate {
  /** Takes per second. */
  readonly rate: number;
  /** The longest that anything else in this process waited for its turn. */
  readonly stallMs: number;
}

/** With so many always waiting. */
async function rateOf(waiting: number, count: number, take: (i: number) => Promise<unknown>): Promise<Rate> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const started = performance.now();
  let next = 0;
  const run = async () => {
    while (next < count) await take(next++);
  };
  await Promise.all(Array.from({ length: waiting }, run));
  const seconds = (performance.now() - started) / 1000;
  delay.disable();
  return { rate: count / seconds, stallMs: delay.max / 1e6 };
}

async function journalRate(waiting: number, count: number): Promise<Rate & { readonly fsyncs: number }> {
  const journal = await Journal.open({ folder: join(folder, `rate-${waiting}`), now });
  await journal.put(grant);
  const before = journal.stats.fsyncs;
  const rate = await rateOf(waiting, count, (i) => journal.take({ domain, address: addressOf(i), owner: owner(i) }));
  const fsyncs = journal.stats.fsyncs - before;
  await journal.close();
  return { ...rate, fsyncs };
}

async function sqliteRate(open: (path: string) => Store, waiting: number, count: number): Promise<Rate> {
  const store = open(join(folder, `${open.name}-${waiting}`));
  const state = new State(new RestClock(now));
  const rate = await rateOf(waiting, count, (i) => {
    const record = recordOf(i);
    state.applyWithUndo(record);
    return store.put({ address: String(addressOf(i)), line: encodeRecord(record) });
  });
  await store.close();
  return rate;
}

async function fillSqlite(path: string): Promise<void> {
  const store = sqliteHere(path);
  for (let from = 0; from < held; from += 10_000) {
    const indexes = Array.from({ length: Math.min(10_000, held - from) }, (_, i) => from + i);
    await Promise.all(
      indexes.map((i) => store.put({ address: String(addressOf(i)), line: encodeRecord(recordOf(i)) })),
    );
  }
  await store.close();
}

function recordOf(i: number): JournalRecord {
  const note = { pool: key };
  return { op: "hold", hold: { domain, address: addressOf(i), owner: owner(i), version: String(i), note } };
}

async function peerRate(count: number): Promise<number> {
  const file = await realJournalDisk.create(join(folder, "peer"));
  const started = performance.now();
  for (let i = 0; i < count; i++) {
    const hold = { domain, address: addressOf(i), owner: owner(i), version: String(i) };
    await file.append(encodeFrame(i, encodeRecord({ op: "hold", hold })));
    await file.datasync();
  }
  const seconds = (performance.now() - started) / 1000;
  await file.close();
  return count / seconds;
}

async function fillLarge(place: string): Promise<number> {
  const journal = await Journal.open({ folder: place, now });
  await journal.put(grant);
  const size = 10_000;
  for (let from = 0; from < held; from += size) {
    const indexes = Array.from({ length: Math.min(size, held - from) }, (_, i) => from + i);
    const note = { pool: key };
    await Promise.all(indexes.map((i) => journal.take({ domain, address: addressOf(i), owner: owner(i), note })));
  }
  const { bytes } = journal.stats;
  await journal.close();
  return bytes;
}

interface Opened {
  readonly openMs: number;
  readonly heapMiB: number;
  readonly rssMiB: number;
}

/** In a process of its own, as after a restart: cold, with a heap that has nothing else. */
async function openLarge(place: string): Promise<Opened> {
  const started = performance.now();
  const journal = await Journal.open({ folder: place, now });
  const openMs = performance.now() - started;
  const rssMiB = process.memoryUsage.rss() / 2 ** 20;
  const count = [...journal.holds()].length;
  if (count !== held) throw new Error(`${count} of ${held} holds are back`);
  const heapMiB = bytesInUse() / 2 ** 20;
  await journal.close();
  return { openMs, heapMiB, rssMiB };
}

/** What SQLite would spare a restart is the reading: parsing and the indexes in memory stay. */
function openSqlite(path: string): Opened {
  const started = performance.now();
  const state = new State(new RestClock(now));
  readAll(path, (line) => state.apply(decodeRecord(line, (text) => text)!));
  const openMs = performance.now() - started;
  return { openMs, heapMiB: bytesInUse() / 2 ** 20, rssMiB: process.memoryUsage.rss() / 2 ** 20 };
}

function restart(place: string): Opened {
  const child = spawnSync(process.execPath, ["--expose-gc", import.meta.filename, place], { encoding: "utf8" });
  if (child.status !== 0) throw new Error(child.stderr);
  return JSON.parse(child.stdout) as Opened;
}

function shown({ rate, stallMs }: Rate): string {
  return `${rate.toFixed(0).padStart(8)} takes/s, longest stall ${stallMs.toFixed(1)} ms`;
}

async function main(): Promise<void> {
  const peer = await peerRate(2000);
  console.log(`an fsync each: ${peer.toFixed(0).padStart(8)} takes/s`);
  const rates: Record<number, number> = {};
  for (const [waiting, count] of stages) {
    const { rate, stallMs, fsyncs } = await journalRate(waiting, count);
    rates[waiting] = rate;
    const each = (count / fsyncs).toFixed(1);
    console.log(`${String(waiting).padStart(5)} waiting: ${shown({ rate, stallMs })}, ${each} per fsync`);
    for (const open of [sqliteHere, sqliteThread]) {
      console.log(`${open.name.padStart(13)}: ${shown(await sqliteRate(open, waiting, count))}`);
    }
  }
  const place = join(folder, "large");
  const bytes = await fillLarge(place);
  const { openMs, heapMiB, rssMiB } = restart(place);
  const memory = `heap ${heapMiB.toFixed(0)} MiB, RSS while reading ${rssMiB.toFixed(0)} MiB`;
  console.log(`${held} holds, ${(bytes / 2 ** 20).toFixed(0)} MiB: open in ${openMs.toFixed(0)} ms; ${memory}`);
  const database = join(folder, "large.sqlite");
  await fillSqlite(database);
  console.log(`the same in SQLite: open in ${restart(database).openMs.toFixed(0)} ms`);
  const ours = rates[64]!;
  const met = openMs < goals.openMs && ours / peer > goals.ratioAt64;
  close({
    bench: "journal",
    ours,
    peer,
    ratio: ours / peer,
    unit: "takes/s",
    met,
    rates,
    openMs,
    bytes,
    heapMiB,
    rssMiB,
  });
}

const [opened] = process.argv.slice(2);
if (opened?.endsWith(".sqlite") === true) console.log(JSON.stringify(openSqlite(opened)));
else if (opened !== undefined) console.log(JSON.stringify(await openLarge(opened)));
else {
  try {
    await main();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
