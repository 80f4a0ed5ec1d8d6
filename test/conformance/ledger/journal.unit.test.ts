// The journal as a ledger. A lost reply is a failing disk: before, the write and the cutting back; after, the fsync.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { JournalGrant } from "../../../src/ledger/journal/grant.ts";
import { Journal } from "../../../src/ledger/journal/journal.ts";
import { parsePrefix } from "../../../src/net/prefix.ts";
import { type DiskCall, flawedDisk } from "../../journal/flawed-disk.ts";
import { ledgerConformance } from "./suite.ts";

const domains = ["slice:kube-system/a", "slice:kube-system/b", "slice:kube-system/c"] as const;

function grantOf(domain: string, text: string): JournalGrant {
  const slice = parsePrefix(text);
  const key = `${domain} ${text}`;
  const whole = { namespace: "kube-system", network: domain, range: slice, slice, generation: 1, serial: 1 };
  return { key, domain, ...whole, phase: "active", without: [], taken: [], sealed: false, moved: [] };
}

ledgerConformance("journal", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-journal-"));
  let nowMs = 1_000_000;
  let flaws: readonly DiskCall[] = [];
  const disk = flawedDisk((call) => {
    if (!flaws.includes(call)) return undefined;
    flaws = flaws.filter((each) => each !== call);
    return { code: "EIO", torn: 10 };
  });
  const journal = await Journal.open({ folder, now: () => nowMs, disk });
  for (const domain of domains) {
    for (const text of ["0.0.0.0/0", "::/0"]) await journal.put(grantOf(domain, text));
  }
  return {
    domains,
    // One process has the journal: all its clients are the same.
    open: async () => journal,
    loseNextReply: (when) => (flaws = when === "before-commit" ? ["append", "truncate"] : ["datasync"]),
    now: () => nowMs,
    advance: async (ms) => void (nowMs += ms),
    close: async () => {
      await journal.close();
      rmSync(folder, { recursive: true });
    },
  };
});
