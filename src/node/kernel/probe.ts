// Whether somebody whom no ledger knows uses an address: asked on the wire, in the pod's namespace. The main thread's
// side; the thread starts when first needed, and again if it ends. Promised: a host that answers in time is named by
// its MAC; only that thread leaves the process's namespace. Not promised: that nobody has the address. A host that is
// off, slow, without carrier or with our MAC (ipvlan on one parent) is not heard; a router that proxies ARP is heard
// for every address. An interface that is down is brought up, and stays up; a missing one (ptp plugin) is an error.
import { Worker } from "node:worker_threads";

import { asError } from "../../kube/abort.ts";
import { isInterfaceName } from "../../linux/device.ts";
import { KernelError } from "../../linux/libc.ts";
import type { Address } from "../../net/address.ts";
import type { ProbeOrder, ProbeReport } from "./probe-thread.ts";

export interface ProbeRequest {
  /** Path of the pod's network namespace, as the runtime gives it in CNI_NETNS. */
  readonly netns: string;
  readonly interface: string;
  readonly address: Address;
  /** How long to listen, 20 ms to 10 s; waiting for a turn comes on top. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export type ProbeAnswer = { readonly duplicate: false } | { readonly duplicate: true; readonly mac: string };

/** Sockets open at once; each is one pod interface whose start waits. */
const atOnce = 16;
/** A full node of 110 pods with 4 networks each, and some. At 200 ms each the last waits 6.4 s: 512 / 16 x 0.2 s. */
const mostWaiting = 512;
const shortestMs = 20;
const longestMs = 10_000;

interface Job {
  readonly request: ProbeRequest;
  readonly settle: (answer: ProbeAnswer | Error) => void;
}

export class Prober {
  readonly #waiting = new Set<Job>();
  /** Key: the order's id. At most `atOnce`. */
  readonly #running = new Map<number, Job>();
  #thread: Worker | undefined;
  #lastId = 0;

  /** Rejects with a KernelError where no answer could be had; that says nothing about the address. */
  async probe(request: ProbeRequest): Promise<ProbeAnswer> {
    const { signal } = request;
    const wrong = wrongWith(request);
    if (wrong !== undefined) throw new KernelError("bad-argument", `cannot probe. ${wrong}.`);
    signal?.throwIfAborted();
    const full = `${mostWaiting} probes wait already; ${request.address} is not probed. Try again, or probe for a shorter time.`;
    if (this.#waiting.size >= mostWaiting) throw new KernelError("busy", full);
    const { promise, resolve, reject } = Promise.withResolvers<ProbeAnswer>();
    const job: Job = { request, settle: (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)) };
    const onAbort = () => this.#cancel(job);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#waiting.add(job);
    this.#startSome();
    return promise.finally(() => signal?.removeEventListener("abort", onAbort));
  }

  #startSome(): void {
    for (const job of this.#waiting) {
      if (this.#running.size >= atOnce) return;
      this.#waiting.delete(job);
      const id = ++this.#lastId;
      this.#running.set(id, job);
      const { netns, interface: link, address, timeoutMs } = job.request;
      this.#order({ kind: "ask", id, netns, link, address: address.toString(), timeoutMs });
    }
  }

  #cancel(job: Job): void {
    for (const [id, running] of this.#running) {
      if (running !== job) continue;
      this.#running.delete(id);
      this.#order({ kind: "forget", id });
    }
    this.#waiting.delete(job);
    job.settle(asError(job.request.signal?.reason));
    this.#startSome();
  }

  #order(order: ProbeOrder): void {
    this.#thread ??= this.#startThread();
    this.#thread.postMessage(order, []);
  }

  #startThread(): Worker {
    const thread = new Worker(new URL("./probe-thread.ts", import.meta.url), { name: "probe" });
    thread.unref(); // a daemon that ends does not wait for it
    thread.on("message", (report: ProbeReport) => this.#finish(report));
    thread.on("error", (error) => this.#lose(thread, error.message));
    thread.on("exit", () => this.#lose(thread, "it ended"));
    return thread;
  }

  #finish(report: ProbeReport): void {
    const job = this.#running.get(report.id);
    if (job === undefined) return; // called off meanwhile
    this.#running.delete(report.id);
    if ("code" in report) job.settle(new KernelError(report.code, report.message));
    else job.settle(report.mac === undefined ? { duplicate: false } : { duplicate: true, mac: report.mac });
    this.#startSome();
  }

  /** Those under way are lost with it; those that wait get a new thread. */
  #lose(thread: Worker, why: string): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    const lost = [...this.#running.values()];
    this.#running.clear();
    for (const job of lost)
      job.settle(new KernelError("closed", `the thread that probes was lost: ${why}. Probe again.`));
    this.#startSome();
  }
}

/** One for the process: its thread costs nothing until the first probe, and some 10 MiB after it. */
const prober = new Prober();

export const probeDuplicate = (request: ProbeRequest): Promise<ProbeAnswer> => prober.probe(request);

function wrongWith({ netns, interface: link, timeoutMs }: ProbeRequest): string | undefined {
  if (!netns.startsWith("/") || netns.includes("\0")) return `netns: ${JSON.stringify(netns)} is not an absolute path`;
  if (!isInterfaceName(link))
    return `interface: ${JSON.stringify(link)} is not the name of one, which has 1 to 15 bytes`;
  if (timeoutMs >= shortestMs && timeoutMs <= longestMs) return undefined;
  return `timeoutMs: ${timeoutMs} is not within ${shortestMs} to ${longestMs}`;
}
