// The peer: the map of the seed, one entry for each of the pool's addresses, built for real by a program in Go (the
// language of the controller that the seed describes) in a process of its own.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { findGo } from "../../tools/bootstrap/go.ts";
import { usageOf } from "../slices/usage.ts";
import type { Memory } from "./controller.ts";
import { addresses } from "./plan.ts";

export interface PerAddress extends Memory {
  readonly buildMs: number;
}

export async function measurePeer(folder: string): Promise<PerAddress | { readonly reason: string }> {
  const source = join(import.meta.dirname, "per-address");
  const program = join(folder, "per-address");
  try {
    execFileSync(findGo("1.22").path, ["build", "-o", program, "."], { cwd: source, stdio: "pipe" });
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
  const startedMs = performance.now();
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const gone = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  try {
    await lines.next();
    const buildMs = performance.now() - startedMs;
    const { value: entries } = await lines.next();
    if (Number(entries) !== addresses) throw new Error(`the map has ${entries} entries`);
    const { rssBytes, peakRssBytes } = usageOf(child.pid ?? 0);
    const mebibytes = (bytes: number) => Math.round(bytes / 2 ** 20);
    return { buildMs, rssMiB: mebibytes(rssBytes), peakMiB: mebibytes(peakRssBytes) };
  } finally {
    child.stdin.end();
    await gone;
  }
}
