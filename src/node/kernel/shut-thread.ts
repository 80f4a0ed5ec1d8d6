// The thread that takes interfaces down: started for one visit to one namespace, and gone after it.
import { fstatSync, openSync, closeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";

import { KernelError, kernelFailure, type KernelFailure, libc, refused } from "./libc.ts";
import { isLinkUp, takeDown } from "./link.ts";
import { homeNamespace, visit } from "./namespace.ts";

export interface ShutOrder {
  readonly netns: string;
  /** Nothing is done in a namespace that is another. */
  readonly netnsId: string;
  readonly links: readonly string[];
}

export type ShutReport = { readonly shut: readonly string[] } | KernelFailure;

const AF_INET = 2;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;

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
  const socket = libc.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw refused("cannot open a socket", "Raise the limit of open files.");
  try {
    return links.filter((link) => {
      if (isLinkUp(socket, link) !== true) return false;
      takeDown(socket, link);
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
