// What the tests of the journal share: a slice, owners, folders that go away.
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import type { Owner } from "../../src/ipam/owner.ts";
import type { JournalGrant } from "../../src/ledger/journal/grant.ts";
import { Journal, type JournalOptions } from "../../src/ledger/journal/journal.ts";
import { parsePrefix } from "../../src/net/prefix.ts";

export const domain = "slice:kube-system/net";

export function grantOf(text: string, more: Partial<JournalGrant> = {}): JournalGrant {
  const slice = parsePrefix(text);
  const key = `kube-system/net-${text.replace("/", "-")}-node`;
  const place = { key, domain, namespace: "kube-system", network: "net", range: parsePrefix("10.0.0.0/16"), slice };
  const state = {
    generation: 1,
    serial: 1,
    phase: "active",
    without: [],
    taken: [],
    sealed: false,
    moved: [],
  } as const;
  return { ...place, ...state, ...more };
}

export function pod(name: string, containerId = `c-${name}`): Owner {
  return { kind: "pod", uid: `uid-${name}`, namespace: "default", name, interface: "net1", containerId };
}

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
  return Object.fromEntries([...journal.holds()].map(({ address, owner }) => [String(address), owner.name]).sort());
}
