// What the tests of the journal share: folders that go away, and journals that are closed.
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import { Journal, type JournalOptions } from "../../src/ledger/journal/journal.ts";

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-journal-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** As a crash leaves it: the files as they are now, and nobody who has them open. */
export function copyOf(folder: string): string {
  const copy = newFolder();
  cpSync(folder, copy, { recursive: true });
  return copy;
}

/** Closed when the test ends. */
export async function open(folder: string, more: Partial<JournalOptions> = {}): Promise<Journal> {
  const journal = await Journal.open({ folder, now: () => 1_000_000, ballastBytes: 4096, ...more });
  onTestFinished(() => journal.close());
  return journal;
}

/** address -> owner's name */
export function held(journal: Journal): Record<string, string> {
  return Object.fromEntries([...journal.holds()].map(({ address, owner }) => [String(address), owner.name]));
}
