// Opening fails at each disk call in turn: it says so or goes on; the next has all answers. And a disk that hangs.
import { expect, it } from "vitest";

import type { JournalDisk } from "../../src/ledger/journal/disk.ts";
import { JournalError } from "../../src/ledger/journal/error.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { parseAddress } from "../../src/net/address.ts";
import { held, newFolder, open } from "./fixtures.ts";
import { flawedDisk } from "./flawed-disk.ts";
import { MemoryDisk } from "./memory-disk.ts";
import { domain, grantOf, pod } from "./slice.ts";

const file = "/j/journal.log";
const options = { folder: "/j", now: () => 1_000_000, ballastBytes: 8192 };
const take = (journal: Journal, last: number) =>
  journal.take({ domain, address: parseAddress(`10.0.0.${last}`), owner: pod(`p${last}`) });

async function recorded(): Promise<Buffer> {
  const disk = new MemoryDisk();
  const journal = await Journal.open({ ...options, disk });
  await journal.put(grantOf("10.0.0.0/28"));
  await Promise.all([take(journal, 1), take(journal, 2)]);
  await journal.close();
  return (await disk.read(file))!;
}

const both = { "10.0.0.1": "p1", "10.0.0.2": "p2" };

it.each([
  ["whole", (bytes: Buffer) => bytes, both],
  ["torn", (bytes: Buffer) => Buffer.concat([bytes, bytes.subarray(0, 50)]), both],
  [
    "damaged",
    (bytes: Buffer) => Buffer.from(bytes.toString("latin1").replace("c-p1", "c-q1"), "latin1"),
    { "10.0.0.2": "p2" },
  ],
])("opens a %s journal, or says why not, whichever call fails", async (_what, change, wanted) => {
  const bytes = change(await recorded());
  for (const code of ["EIO", "ENOSPC"]) {
    let calls = 0;
    let failing = 0;
    do {
      failing += 1;
      calls = 0;
      const memory = MemoryDisk.of(file, bytes);
      const disk = flawedDisk(() => (++calls === failing ? { code, torn: 20 } : undefined), memory);
      try {
        const journal = await Journal.open({ ...options, disk });
        expect(held(journal)).toEqual(wanted);
        await journal.close();
      } catch (error) {
        expect(error).toBeInstanceOf(JournalError);
        expect(error).toMatchObject({ code: "disk" });
      }
      // Nobody has it locked, and nothing is lost.
      const again = await Journal.open({ ...options, disk: memory });
      expect(held(again)).toEqual(wanted);
      expect(again.suspect === "").toBe(wanted === both);
      await again.close();
    } while (calls >= failing);
    expect(failing).toBeGreaterThan(5);
  }
});

it("makes no journal twice where the first could not be named", async () => {
  for (let failing = 1; failing < 12; failing++) {
    const memory = new MemoryDisk();
    let calls = 0;
    const disk = flawedDisk(() => (++calls === failing ? { code: "EIO" } : undefined), memory);
    await Journal.open({ ...options, disk }).then(
      (journal) => journal.close(),
      (error: unknown) => expect(error).toMatchObject({ code: "disk" }),
    );
    const again = await Journal.open({ ...options, disk: memory });
    expect(again).toMatchObject({ damaged: 0, suspect: "" });
    await again.close();
  }
});

it("lets a request go that is called off while the disk hangs, and carries it out later", async () => {
  const gate = Promise.withResolvers<void>();
  const memory = new MemoryDisk();
  let hangs = false;
  const disk: JournalDisk = flawedDisk(() => undefined, memory);
  const slow: JournalDisk = {
    ...disk,
    create: async (path) => {
      const opened = await disk.create(path);
      return { ...opened, datasync: async () => (hangs && (await gate.promise), opened.datasync()) };
    },
  };
  const journal = await Journal.open({ ...options, disk: slow });
  await journal.put(grantOf("10.0.0.0/28"));
  hangs = true;
  const controller = new AbortController();
  const request = { domain, address: parseAddress("10.0.0.1"), owner: pod("p1") };
  const asked = journal.take(request, { signal: controller.signal });
  // Another does not get it meanwhile, and is not told who has it before that is certain.
  let isAnswered = false;
  const other = journal.take({ ...request, owner: pod("p2") }).finally(() => (isAnswered = true));
  controller.abort(new Error("too late"));
  await expect(asked).rejects.toThrow("too late");
  expect(isAnswered).toBe(false);
  gate.resolve();
  expect(await other).toMatchObject({ outcome: "held", hold: { owner: pod("p1") } });
  await journal.close();
});

it("gives room for releases up on a full disk, and none for takes", async () => {
  let isFull = false;
  const disk = flawedDisk((call, name) => {
    if (call === "remove" && name !== "journal.new") isFull = false;
    return isFull && call === "append" ? { code: "ENOSPC", torn: 7 } : undefined;
  });
  const journal = await open(newFolder(), { disk });
  await journal.put(grantOf("10.0.0.0/28"));
  await take(journal, 1);
  isFull = true;
  await expect(take(journal, 2)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("full"),
  });
  expect(isFull).toBe(true);
  await journal.drop("kube-system/net-10.0.0.0-28-node");
  expect(isFull).toBe(false);
  expect(journal.grants()).toEqual([]);
  expect(journal.stats.broken).toBe("");
});
