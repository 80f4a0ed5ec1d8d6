import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { Journal } from "../../src/ledger/journal/journal.ts";
import { makeLog } from "../../src/log/log.ts";
import { parseAddress } from "../../src/net/address.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { sliceFolder } from "../../src/node/slices/authority.ts";
import { readJournals } from "./journals.ts";

const domain = "slice:kube-system/blue";

it("reads from the disk what daemons held, by node and network", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bench-journals-"));
  try {
    const log = makeLog({ write: () => {}, level: "error", format: "text", now: Date.now });
    const journal = await Journal.open({ folder: sliceFolder(folder), now: Date.now, log });
    await journal.put({
      key: "kube-system/blue-a",
      domain,
      namespace: "kube-system",
      network: "blue",
      range: parsePrefix("10.0.0.0/8"),
      slice: parsePrefix("10.0.4.0/22"),
      generation: 1,
      serial: 1,
      phase: "active",
      without: [],
      taken: [],
      sealed: false,
      moved: [],
    });
    const owner = {
      kind: "pod",
      uid: "u",
      namespace: "bench",
      name: "a",
      interface: "net1",
      containerId: "c",
    } as const;
    const outcome = await journal.take({ domain, address: parseAddress("10.0.4.1"), owner });
    expect(outcome.outcome).toBe("taken");
    await journal.close();
    expect(await readJournals(new Map([["node-a", folder]]))).toEqual({
      held: [{ node: "node-a", network: "blue", address: "10.0.4.1", owner: "bench/a net1" }],
      damaged: 0,
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
