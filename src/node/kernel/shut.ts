// Takes interfaces down in a pod's namespace, and nothing else: it keeps an old guest off the network. Promised: only
// in the namespace that is meant, by identity and not by path alone; only its own short thread leaves our namespace.
import { once } from "node:events";
import { Worker } from "node:worker_threads";

import { isInterfaceName } from "../../linux/device.ts";
import { KernelError } from "../../linux/libc.ts";
import type { ShutOrder, ShutReport } from "./shut-thread.ts";

/** The names that were up. Rejects with a KernelError where the kernel refused, or the namespace is gone or another. */
export async function shutLinks(order: ShutOrder, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted();
  const workerData: ShutOrder = { ...order, links: order.links.filter(isInterfaceName) };
  // The work is some system calls: once begun it is not called off.
  const thread = new Worker(new URL("./shut-thread.ts", import.meta.url), { name: "shut", workerData });
  const exit = once(thread, "exit").then(() => [lost]);
  const [report] = (await Promise.race([once(thread, "message", { signal }), exit])) as [ShutReport];
  if ("code" in report) throw new KernelError(report.code, report.message);
  return report.shut;
}

const lost: ShutReport = { code: "closed", message: "the thread that takes interfaces down was lost. Try again." };
