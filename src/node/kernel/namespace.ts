// A thread's visit to another network namespace (setns(2)): in, one synchronous piece of work, out. A namespace belongs
// to a thread, and threads made meanwhile inherit it; so nothing of the event loop runs inside, and the main thread may
// not make a visit. A socket stays in the namespace it was made in: that is all a visit is for.
import { stat } from "node:fs/promises";
import { isMainThread } from "node:worker_threads";

import { CLONE_NEWNET, O_CLOEXEC, O_NONBLOCK, KernelError, lastErrno, libc, refused } from "../../linux/libc.ts";

/** The thread is not where it belongs and must end: whatever it does next would happen in a pod's network. */
export class StrandedError extends KernelError {}

/** This thread's own namespace, to come back to; kept for the thread's life. */
export function homeNamespace(): number {
  const home = libc.open("/proc/thread-self/ns/net", O_CLOEXEC);
  if (home < 0) throw refused("open /proc/thread-self/ns/net", "The daemon needs /proc.");
  return home;
}

export function visit<T>(path: string, home: number, work: () => T): T {
  if (isMainThread) throw new KernelError("bad-argument", "the main thread does not leave its network namespace.");
  enter(path);
  try {
    return work();
  } finally {
    if (libc.setns(home, CLONE_NEWNET) < 0) {
      // oxlint-disable-next-line no-unsafe-finally -- where the thread stands matters more than what the work said
      throw new StrandedError("system-call", `cannot leave the network namespace ${path}: ${lastErrno()}.`);
    }
  }
}

function enter(path: string): void {
  const target = libc.open(path, O_CLOEXEC | O_NONBLOCK);
  if (target < 0) throw refused(`open the network namespace ${path}`, gone, "no-netns");
  const entered = libc.setns(target, CLONE_NEWNET);
  const errno = lastErrno();
  libc.close(target);
  if (entered >= 0) return;
  if (errno === "EINVAL") throw new KernelError("no-netns", `${path} is not a network namespace. ${gone}`);
  const remedy = "The daemon needs CAP_SYS_ADMIN for probes; without it, turn them off.";
  throw new KernelError("system-call", `cannot enter the network namespace ${path}: ${errno}. ${remedy}`);
}

/** Device and inode of nsfs, as `ip netns identify` compares them; undefined where there is nothing. The kernel may use
 * a number again after the namespace is gone: together with the path it is the same sandbox. */
export async function namespaceId(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

const gone = "The pod's sandbox is gone, or its path is not mounted into the daemon's container (/run/netns).";
