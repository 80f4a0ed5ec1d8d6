import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { afterEach, expect, it, vi } from "vitest";

import { endGroup, inGroup } from "./vitest.ts";

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) if (child.pid !== undefined) endGroup(child.pid);
});

/** Runs a shell that starts a `sleep` of its own and prints its pid. */
const script = "sleep 600 & echo $!; wait";

async function pidOf(child: ChildProcess): Promise<number> {
  started.push(child);
  for await (const line of createInterface({ input: child.stdout! })) return Number(line);
  throw new Error("it printed nothing");
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const ended = (pid: number) => vi.waitFor(() => expect(isAlive(pid)).toBe(false), 60_000);

it("what a program has started is ended with its group", async () => {
  const child = inGroup("sh", ["-c", script], { stdio: ["pipe", "pipe", "inherit"] });
  const pid = await pidOf(child);
  expect(isAlive(pid)).toBe(true);
  endGroup(child.pid!);
  await ended(pid);
});

it("the group ends when its starter is killed and can end nothing itself", async () => {
  const words = `import { inGroup } from ${JSON.stringify(join(import.meta.dirname, "vitest.ts"))};
    inGroup("sh", ["-c", ${JSON.stringify(script)}], { stdio: ["pipe", "inherit", "inherit"] });`;
  const starter = spawn(process.execPath, ["--input-type=module-typescript", "-e", words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pid = await pidOf(starter);
  starter.kill("SIGKILL");
  await ended(pid);
});

it("the exit code is the program's", async () => {
  const child = inGroup("sh", ["-c", "exit 3"], { stdio: ["pipe", "ignore", "inherit"] });
  started.push(child);
  expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(3);
});
