// A rewriting has decisions that are not on the disk yet. If the disk refuses those, it must not take the file's place.
import { expect, it } from "vitest";

import { ownerKey } from "../../src/ipam/owner.ts";
import type { JournalDisk } from "../../src/ledger/journal/disk.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { parseAddress } from "../../src/net/address.ts";
import { held } from "./fixtures.ts";
import { flawedDisk } from "./flawed-disk.ts";
import { MemoryDisk } from "./memory-disk.ts";
import { domain, grantOf, pod } from "./slice.ts";

it("is abandoned when a release that it has already is refused by the disk", async () => {
  const memory = new MemoryDisk();
  const gate = Promise.withResolvers<void>();
  let hangs = false;
  let fails = false;
  const flawed = flawedDisk(
    (call, name) => (fails && call === "append" && name !== "journal.new" ? { code: "EIO" } : undefined),
    memory,
  );
  const reopened: JournalDisk = {
    ...flawed,
    open: async (path) => {
      const file = await flawed.open(path);
      return { ...file, datasync: async () => (hangs && (await gate.promise), file.datasync()) };
    },
  };
  const options = { folder: "/j", now: () => 1_000_000, ballastBytes: 0, slackLines: 20 };
  await (await Journal.open({ ...options, disk: flawed })).close();
  const journal = await Journal.open({ ...options, disk: reopened });
  const place = { domain, address: parseAddress("10.0.0.1") };
  await journal.put(grantOf("10.0.0.0/28"));
  await journal.take({ ...place, owner: pod("a") });
  let renewals = 0;
  // Until one line more is one too many: twice its three live lines, and the slack.
  while (journal.stats.records < 26) await journal.renewed((renewals += 1) * 1_000_000);
  hangs = true;
  const last = journal.renewed((renewals += 1) * 1_000_000);
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  // Decided while the batch before it is on its way.
  const released = journal.release({ ...place, owner: ownerKey(pod("a")), cooldownMs: 0 });
  expect(held(journal)).toEqual({});
  fails = true;
  gate.resolve();
  await last;
  await expect(released).rejects.toMatchObject({ code: "unavailable" });
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
  expect(held(journal)).toEqual({ "10.0.0.1": "a" });
  await journal.close();
  const again = await Journal.open({ ...options, disk: memory });
  expect(held(again)).toEqual({ "10.0.0.1": "a" });
  await again.close();
});
