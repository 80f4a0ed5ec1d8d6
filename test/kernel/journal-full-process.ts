// A process for journal-full.test.ts, inside a mount namespace with a small file system of its own: what a journal does
// when that is full. Prints what came of each step as one line of JSON.
import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { LedgerError } from "../../src/ipam/ledger.ts";
import { ownerKey } from "../../src/ipam/owner.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { parseAddress } from "../../src/net/address.ts";
import { domain, grantOf, pod } from "../journal/slice.ts";

const [mount = ""] = process.argv.slice(2);
const folder = join(mount, "journal");
const filler = join(mount, "filler");
let nowMs = 0;
// Time passes with every look at the clock, so that a full disk is tried again.
const open = () => Journal.open({ folder, now: () => (nowMs += 2000), ballastBytes: 16 * 1024 });
const addressOf = (i: number) => parseAddress(`10.0.${i >> 8}.${i & 255}`);

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "done";
  } catch (error) {
    return error instanceof LedgerError ? error.code : String(error);
  }
}

/** Writes as much as there is room for. */
function fill(): void {
  const step = 512;
  for (let bytes = step; ; bytes += step) {
    try {
      writeFileSync(filler, Buffer.alloc(bytes, 1));
    } catch {
      return;
    }
  }
}

const journal = await open();
await journal.put(grantOf("10.0.0.0/16"));
const take = (i: number) => journal.take({ domain, address: addressOf(i), owner: pod(`p${i}`) });
let taken = 0;
for (; taken < 100; taken++) await take(taken);
fill();
// The file's last block has room for some more.
let code = "done";
while (code === "done" && taken < 1000) {
  code = await codeOf(take(taken));
  if (code === "done") taken += 1;
}
const hadBallast = existsSync(join(folder, "ballast", "3"));
let released = 0;
for (let i = 0; i < 60; i++) {
  const request = { domain, address: addressOf(i), owner: ownerKey(pod(`p${i}`)), cooldownMs: 0 };
  if ((await codeOf(journal.release(request))) === "done") released += 1;
  // Somebody else who takes all room there is.
  fill();
}
await journal.close();
const again = await open();
const holds = [...again.holds()].map(({ owner }) => owner.name);
const lowest = Math.min(...holds.map((name) => Number(name.slice(1))));
rmSync(filler);
const healed = await codeOf(again.take({ domain, address: addressOf(0), owner: pod("back") }));
const ballast = statSync(join(folder, "ballast", "3"), { throwIfNoEntry: false })?.size;
const { damaged, suspect } = again;
await again.close();
console.log(
  JSON.stringify({
    taken,
    code,
    hadBallast,

    released,
    held: holds.length,
    lowest,
    healed,
    ballast,
    damaged,
    suspect,
  }),
);
