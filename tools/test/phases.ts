// What a run spent where: the groups of suites with their begin and end, and how busy the cores were.
import { readFileSync } from "node:fs";

/** A group of suites that ran as one; times since the run began. */
export interface Phase {
  readonly name: string;
  readonly files: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** `busySeconds`: processor time of all that ran; undefined where the kernel does not say. */
export function spentIn(seconds: number, busySeconds: number | undefined, cores: number): string {
  const all = `${Math.round(seconds)} s in all`;
  if (busySeconds === undefined) return all;
  const share = Math.round((100 * busySeconds) / (seconds * cores));
  return `${all}, ${Math.round(busySeconds)} s of processor time (${share} % of ${cores} cores):`;
}

/** Lines for the end of a run, in the order in which the groups began. */
export function linesOf(phases: readonly Phase[]): string[] {
  const at = (ms: number) => String(Math.round(ms / 1000)).padStart(4);
  const inOrder = phases.toSorted((a, b) => a.fromMs - b.fromMs);
  return inOrder.map(({ name, files, fromMs, toMs }) => `${at(fromMs)} to ${at(toMs)} s  ${name}, ${files} files`);
}

/** Of all processes below this one that have ended and were waited for, as the kernel counts them. */
export function childrenSeconds(read = () => readFileSync("/proc/self/stat", "utf8")): number | undefined {
  try {
    const text = read();
    // The second field is the program's name in parentheses and may hold spaces and parentheses itself.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[13]) + Number(fields[14]);
    return Number.isFinite(ticks) ? ticks / ticksPerSecond : undefined;
  } catch {
    return undefined; // no /proc
  }
}

/** USER_HZ: the same on every machine that Node runs on. */
const ticksPerSecond = 100;
