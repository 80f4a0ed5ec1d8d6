// What a process has used so far, by the kernel's count, and what the machine has left.
import { readFileSync } from "node:fs";

import { cpuOf } from "../cni/cpu.ts";

export interface Usage {
  readonly cpuMs: number;
  readonly rssBytes: number;
  readonly peakRssBytes: number;
  /** Read and written by system calls: of a process that only talks to the API server its traffic, TLS included. */
  readonly readBytes: number;
  readonly writtenBytes: number;
}

export function usageOf(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const io = readFileSync(`/proc/${pid}/io`, "utf8");
  return {
    cpuMs: cpuOf(pid),
    rssBytes: numberAfter("VmRSS:", status) * 1024,
    peakRssBytes: numberAfter("VmHWM:", status) * 1024,
    readBytes: numberAfter("rchar:", io),
    writtenBytes: numberAfter("wchar:", io),
  };
}

/** What can be had without swapping. */
export function availableBytes(): number {
  return numberAfter("MemAvailable:", readFileSync("/proc/meminfo", "utf8")) * 1024;
}

function numberAfter(word: string, text: string): number {
  const at = text.indexOf(word);
  if (at === -1) throw new Error(`no ${word} in what the kernel says: ${text.slice(0, 100)}`);
  return Number.parseInt(text.slice(at + word.length), 10);
}
