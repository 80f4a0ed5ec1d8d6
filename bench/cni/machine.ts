// The machine a figure belongs to.
import { cpus, loadavg, totalmem } from "node:os";

import { rounded } from "./figures.ts";

export function machine() {
  const [first] = cpus();
  return {
    cpus: cpus().length,
    model: first?.model.trim() ?? "unknown",
    memoryGb: rounded(totalmem() / 2 ** 30, 0),
    /** Before the first load: above the number of cores, somebody else was at work. */
    loadBefore: rounded(loadavg()[0] ?? 0),
    node: process.version,
    date: new Date().toISOString().slice(0, 10),
  };
}
