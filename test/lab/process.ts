// Processes by identity: a pid alone may belong to another by now, a pid with its start time may not.
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, field 22 of /proc/PID/stat. */
  readonly startTicks: number;
}

export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid);
  return stat === undefined ? undefined : { pid, startTicks: stat.startTicks };
}

/** Alive means: still this very process, and not a zombie that only waits to be collected. */
export function isAlive({ pid, startTicks }: ProcessIdentity): boolean {
  const stat = readStat(pid);
  return stat !== undefined && stat.startTicks === startTicks && stat.state !== "Z";
}

/** Sends the signal to this very process; false when it is gone. */
export function sendSignal(process_: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(process_)) return false;
  try {
    process.kill(process_.pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** Stops every thread of the process. Each stops when it next runs: until then it may still answer. */
export function stopProcess(process_: ProcessIdentity): void {
  if (!sendSignal(process_, "SIGSTOP")) return;
  const turn = new Int32Array(new SharedArrayBuffer(4));
  for (let tries = 0; tries < 2000 && !isStopped(process_.pid); tries++) Atomics.wait(turn, 0, 0, 1);
}

function isStopped(pid: number): boolean {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.every((id) => /\) [TtZ] /.test(readFileSync(`/proc/${pid}/task/${id}/stat`, "utf8")));
  } catch {
    return false; // a thread ended meanwhile
  }
}

export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  } catch {
    return [];
  }
}

/** These processes and everything below them, parents first. */
export function withDescendants(roots: readonly number[]): ProcessIdentity[] {
  const childrenByParent = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat === undefined) continue;
    const siblings = childrenByParent.get(stat.parent) ?? [];
    siblings.push(Number(name));
    childrenByParent.set(stat.parent, siblings);
  }
  const found = new Set<number>(roots);
  for (const pid of found) for (const child of childrenByParent.get(pid) ?? []) found.add(child);
  return [...found].flatMap((pid) => identify(pid) ?? []);
}

function readStat(pid: number): { state: string; parent: number; startTicks: number } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses and may hold spaces and parentheses itself.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", parent: Number(fields[1]), startTicks: Number(fields[19]) };
}
