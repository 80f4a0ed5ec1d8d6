// The lock between processes, with real processes.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { acquireLock } from "./lock.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("one holder at a time, and the next one gets it after the release", async () => {
  const file = join(folder, "lock");
  const order: string[] = [];
  const release = await acquireLock(file);
  const second = acquireLock(file, { onWait: () => order.push("second waits") }).then((releaseSecond) => {
    order.push("second holds");
    return releaseSecond;
  });
  await new Promise((resolve) => setTimeout(resolve, 700));
  order.push("first releases");
  await release();
  await (
    await second
  )();
  expect(order).toEqual(["second waits", "first releases", "second holds"]);
});

test("waiting ends with the signal's reason", async () => {
  const file = join(folder, "lock");
  const release = await acquireLock(file);
  const controller = new AbortController();
  const waiting = acquireLock(file, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await release();
});

test("a holder that is killed gives the lock back", async () => {
  const file = join(folder, "lock");
  const script = `import { acquireLock } from ${JSON.stringify(join(import.meta.dirname, "lock.ts"))};
await acquireLock(${JSON.stringify(file)}); console.log("held"); setInterval(() => {}, 1e6);`;
  const holder = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => holder.stdout.once("data", resolve));
  holder.kill("SIGKILL");
  await (
    await acquireLock(file)
  )();
});
