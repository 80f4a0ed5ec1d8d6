// A lock between processes that the kernel gives back when its holder dies, however it dies.
//
// flock(1) holds it while its stdin, a pipe from us, is open: no pid to check, no stale file to remove.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";

export interface LockOptions {
  readonly signal?: AbortSignal;
  /** Called once, when the lock is not free at once. */
  readonly onWait?: () => void;
}

/** How long a lock may take before it counts as held by another: flock answers in about 3 ms here. */
const waitNoticeMs = 500;

/** Resolves to the release function once this process holds the lock on `file`; the file itself stays, and is empty. */
export async function acquireLock(file: string, options: LockOptions = {}): Promise<() => Promise<void>> {
  options.signal?.throwIfAborted();
  mkdirSync(dirname(file), { recursive: true });
  const [program, ...args] = ["flock", file, "sh", "-c", "echo held; exec cat"] as const;
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
  });
  const notice = setTimeout(() => options.onWait?.(), waitNoticeMs);
  const abort = () => child.kill("SIGKILL");
  options.signal?.addEventListener("abort", abort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", (cause) => reject(new Error("cannot run flock: install util-linux", { cause })));
      child.stdout.once("data", () => resolve());
      void ended.then(() => reject(options.signal?.reason ?? new Error(`flock ended without the lock on ${file}`)));
    });
  } finally {
    clearTimeout(notice);
    options.signal?.removeEventListener("abort", abort);
  }
  return () => {
    child.stdin.end();
    return ended;
  };
}
