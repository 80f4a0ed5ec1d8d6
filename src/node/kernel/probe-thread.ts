// The thread that probes: it opens sockets in pods' namespaces and waits on all of them in poll(2), which the main
// thread must not do. One thread is enough: sockets stay where they were made, so each visit takes microseconds.
import { parentPort } from "node:worker_threads";

import { kernelFailure, type KernelFailure, libc } from "../../linux/libc.ts";
import { parseAddress } from "../../net/address.ts";
import { Inquiry } from "./inquiry.ts";
import { homeNamespace, StrandedError, visit } from "./namespace.ts";

export type ProbeOrder =
  | {
      readonly kind: "ask";
      readonly id: number;
      readonly netns: string;
      readonly link: string;
      readonly address: string;
      readonly timeoutMs: number;
    }
  | { readonly kind: "forget"; readonly id: number };

export type ProbeReport =
  | { readonly id: number; readonly mac: string | undefined }
  | ({ readonly id: number } & KernelFailure);

/** While it waits in poll(2) it hears no order, so it waits in slices: an order is late by this at most. */
const sliceMs = 10;
const POLLIN = 1;
/** struct pollfd: descriptor, events, what happened. */
const pollfdBytes = 8;

class ProbeThread {
  readonly #home = homeNamespace();
  /** Key: the order's id. At most as many as the prober lets in. */
  readonly #inquiries = new Map<number, Inquiry>();
  readonly #report: (report: ProbeReport) => void;
  #isTurning = false;

  constructor(report: (report: ProbeReport) => void) {
    this.#report = report;
  }

  ask({ id, netns, link, address, timeoutMs }: Extract<ProbeOrder, { kind: "ask" }>): void {
    this.#guard(id, () => {
      const parsed = parseAddress(address);
      const open = () => new Inquiry(link, parsed, performance.now(), timeoutMs);
      this.#inquiries.set(id, visit(netns, this.#home, open));
    });
    if (!this.#isTurning) this.#turn();
  }

  #turn(): void {
    for (const [id, inquiry] of this.#inquiries) {
      this.#guard(id, () => {
        const answer = inquiry.turn(performance.now());
        if (answer === undefined) return;
        this.forget(id);
        this.#report({ id, mac: answer === "nobody" ? undefined : answer });
      });
    }
    this.#isTurning = this.#inquiries.size > 0;
    if (!this.#isTurning) return;
    setImmediate(() => this.#turn());
    const inquiries = [...this.#inquiries.values()];
    const due = Math.min(...inquiries.map(({ dueMs }) => dueMs)) - performance.now();
    const descriptors = Buffer.alloc(inquiries.length * pollfdBytes);
    for (const [index, { fd }] of inquiries.entries()) {
      descriptors.writeInt32LE(fd, index * pollfdBytes);
      descriptors.writeInt16LE(POLLIN, index * pollfdBytes + 4);
    }
    libc.poll(descriptors, inquiries.length, Math.max(0, Math.min(sliceMs, Math.ceil(due))));
  }

  /** One probe's failure is its own; only a thread that cannot come home takes the others with it. */
  #guard(id: number, work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof StrandedError) for (const each of this.#inquiries.keys()) this.forget(each);
      this.forget(id);
      this.#report({ id, ...kernelFailure(error) });
      if (error instanceof StrandedError) process.exit(1); // ends this thread; the prober starts another
    }
  }

  forget(id: number): void {
    this.#inquiries.get(id)?.close();
    this.#inquiries.delete(id);
  }
}

if (parentPort !== null) {
  const port = parentPort;
  const thread = new ProbeThread((report) => port.postMessage(report, []));
  port.on("message", (order: ProbeOrder) => {
    if (order.kind === "ask") thread.ask(order);
    else thread.forget(order.id);
  });
}
