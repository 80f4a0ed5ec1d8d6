// Processor time of the parts of a measurement: what remains comparable where others share the machine.
import { readFileSync } from "node:fs";

import { rounded } from "./figures.ts";
import type { BenchLab } from "./lab.ts";

export interface CpuReading {
  /** This process: the load itself and, with a fleet, its daemons. */
  readonly selfMs: number;
  readonly apiserverMs: number;
  readonly etcdMs: number;
}

/** The kernel counts in hundredths of a second on every architecture that Node runs on. */
const tickMs = 10;

export function readCpu({ cluster }: BenchLab): CpuReading {
  const { user, system } = process.cpuUsage();
  return {
    selfMs: (user + system) / 1000,
    apiserverMs: cpuOf(cluster.apiserver.pid),
    etcdMs: cpuOf(cluster.etcd.pid),
  };
}

/** Per call, in milliseconds of one core. */
export function cpuPerCall(before: CpuReading, after: CpuReading, calls: number): CpuReading {
  const per = (name: keyof CpuReading) => rounded((after[name] - before[name]) / calls);
  return { selfMs: per("selfMs"), apiserverMs: per("apiserverMs"), etcdMs: per("etcdMs") };
}

/** 0 without such a process. utime and stime are fields 14 and 15; the 2nd, a name in brackets, may hold spaces. */
export function cpuOf(pid: number | undefined): number {
  if (pid === undefined) return 0;
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [utime = "0", stime = "0"] = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13);
  return (Number(utime) + Number(stime)) * tickMs;
}
