// The thread that takes interfaces down: started for one visit to one namespace, and gone after it.
import { fstatSync, openSync, closeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";

import { isSetUp, openQueries, setUp } from "../../linux/device.ts";
import { KernelError, kernelFailure, type KernelFailure, libc } from "../../linux/libc.ts";
import { homeNamespace, visit } from "./namespace.ts";

export interface ShutOrder {
  readonly netns: string;
  /** Nothing is done in a namespace that is another. */
  readonly netnsId: string;
  readonly links: readonly string[];
}

export type ShutReport = { readonly shut: readonly string[] } | KernelFailure;

function shutIn({ netns, netnsId, links }: ShutOrder): string[] {
  // Opened first and entered through the descriptor: what was compared is what is entered.
  const descriptor = openSync(netns, "r");
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    if (`${dev}:${ino}` !== netnsId)
      throw new KernelError("no-netns", `${netns} is another network namespace than the one that was meant.`);
    return visit(`/proc/self/fd/${descriptor}`, homeNamespace(), () => shutHere(links));
  } finally {
    closeSync(descriptor);
  }
}

function shutHere(links: readonly string[]): string[] {
  const socket = openQueries();
  try {
    return links.filter((link) => {
      if (!isSetUp(socket, link)) return false;
      setUp(socket, link, false, "The daemon needs CAP_NET_ADMIN to fence an old guest.");
      return true;
    });
  } finally {
    libc.close(socket);
  }
}

function report(order: ShutOrder): ShutReport {
  try {
    return { shut: shutIn(order) };
  } catch (error) {
    return kernelFailure(error, (error as NodeJS.ErrnoException).code === "ENOENT" ? "no-netns" : "system-call");
  }
}

parentPort?.postMessage(report(workerData as ShutOrder), []);
