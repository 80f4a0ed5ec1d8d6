// A short text in a file, replaced whole. Not flushed: what a crash takes away is only newer than what stays.
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Memory, Moment } from "./authority.ts";

const name = "renewed.json";

export function fileMemory(folder: string): Memory {
  const path = join(folder, name);
  return {
    async read() {
      try {
        return await readFile(path, "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    async write(text) {
      await writeFile(`${path}.new`, text, { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
  };
}

/** The kernel's own clocks. /proc/uptime counts time asleep, which Node's monotonic clock does not. */
export function kernelMoment(readText: (path: string) => string, wallMs: () => number): () => Moment {
  const bootId = readText("/proc/sys/kernel/random/boot_id").trim();
  return () => ({ bootId, uptimeMs: Number(readText("/proc/uptime").split(" ")[0]) * 1000, wallMs: wallMs() });
}
