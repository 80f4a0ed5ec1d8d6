// A journal on a real file system of 64 KiB that is full: nothing is handed out, all that is released is written down,
// nothing is lost, and it goes on by itself when there is room again.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { expect, it } from "vitest";

import { run } from "../lab/command.ts";

const script = fileURLToPath(new URL("./journal-full-process.ts", import.meta.url));

it("refuses takes on a full disk, carries out releases, and heals", async () => {
  const mount = mkdtempSync(join(tmpdir(), "holdfast-full-"));
  try {
    // Mounted in a namespace that ends with the process: nothing is left to unmount.
    const inside = `mount -t tmpfs -o size=64k,mode=0700 tmpfs ${mount} && exec ${process.execPath} ${script} ${mount}`;
    const output = await run(["unshare", "--mount", "--propagation", "private", "sh", "-c", inside]);
    const found = JSON.parse(output) as { taken: number; held: number };
    expect(found).toMatchObject({ code: "unavailable", hadBallast: true });
    expect(found).toMatchObject({ released: 60, lowest: 60, healed: "done", damaged: 0, suspect: "" });
    expect(found).toMatchObject({ ballast: 4096 });
    expect(found.taken).toBeGreaterThanOrEqual(100);
    expect(found.held).toBe(found.taken - 60);
  } finally {
    rmSync(mount, { recursive: true });
  }
}, 30_000);
