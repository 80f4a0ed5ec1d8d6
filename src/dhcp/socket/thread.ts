// The wire's thread: it waits in poll(2) for frames, for orders (an eventfd tells of them) and for the next thing that
// is due. Orders are taken from their queue without the event loop, in their place between frames.
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";

import { CLONE_NEWNET, O_CLOEXEC, O_NONBLOCK, libc, refused, kernelFailure } from "../../linux/libc.ts";
import type { Moment } from "./link.ts";
import type { Order, Report, ThreadPlan } from "./messages/orders.ts";
import { type PolledSocket, Station } from "./station.ts";

const POLLIN = 1;
/** The event loop runs this often at least: what Node itself wants to do there has to wait no longer. */
const loopEveryMs = 200;
/** A batch of bindings is one order. */
const ordersPerTurn = 64;

class Thread {
  readonly #station: Station;
  readonly #wake: number;
  readonly #woken = Buffer.alloc(8);
  /** struct pollfd for each: the descriptor in 32 bits, what is waited for in 16, what happened in 16. */
  #descriptors = new Int32Array(0);
  /** The same memory by 16 bits. */
  #events = new Int16Array(0);
  readonly #port: MessagePort;
  #isStopped = false;

  constructor(plan: ThreadPlan, port: MessagePort) {
    this.#port = port;
    if (plan.netns !== undefined) enter(plan.netns);
    this.#wake = plan.wake;
    this.#station = new Station(plan, (report) => tell(port, report));
  }

  /** Turn after turn; now and then the event loop runs, for what Node itself wants to do there. */
  run(): void {
    const endMs = performance.now() + loopEveryMs;
    let now = moment();
    while (!this.#isStopped && now.ms < endMs) {
      if (now.ms >= this.#station.dueMs) this.#station.turn(now);
      const { sockets } = this.#station;
      this.#poll(sockets, Math.min(endMs, this.#station.dueMs) - now.ms);
      now = moment();
      // Orders first: a frame that came after them is dealt with as they say.
      if (this.#events[3] !== 0) this.#obey(now);
      if (this.#isStopped) break;
      for (let index = 0; index < sockets.length; index++) {
        const events = this.#events[4 * (index + 1) + 3]!;
        if (events !== 0) sockets[index]!.receive(now);
        if ((events & ~POLLIN) !== 0) sockets[index]!.trouble(now);
      }
    }
    if (this.#isStopped) this.#port.close(); // nothing is left to do then, and the thread ends
    else setImmediate(() => this.run());
  }

  /** The eventfd is written to after the order is in the queue: what is there now is all that it told of. */
  #obey(now: Moment): void {
    libc.read(this.#wake, this.#woken, this.#woken.length);
    for (let count = 0; count < ordersPerTurn; count++) {
      const found = receiveMessageOnPort(this.#port);
      if (found === undefined) return;
      const order = found.message as Order;
      if (order.kind === "stop") this.#isStopped = true;
      this.#station.obey(order, now);
      if (this.#isStopped) return;
    }
    // There may be more than frames should wait for: once more after them.
    libc.write(this.#wake, one, one.length);
  }

  #poll(sockets: readonly PolledSocket[], waitMs: number): void {
    if (this.#descriptors.length !== 2 * (sockets.length + 1)) {
      this.#descriptors = new Int32Array(2 * (sockets.length + 1));
      this.#events = new Int16Array(this.#descriptors.buffer);
    }
    for (let index = 0; index <= sockets.length; index++) {
      this.#descriptors[2 * index] = index === 0 ? this.#wake : sockets[index - 1]!.fd;
      this.#descriptors[2 * index + 1] = POLLIN; // and nothing has happened
    }
    libc.poll(this.#bytes(), sockets.length + 1, Math.max(0, Math.ceil(waitMs)));
  }

  #bytes(): Uint8Array {
    return new Uint8Array(this.#descriptors.buffer);
  }
}

/** What an eventfd takes: a number that is added. */
const one = Buffer.from(BigUint64Array.of(1n).buffer);

const moment = () => ({ ms: performance.now(), wallMs: Date.now() });

/** For the thread's whole life: only its own sockets are made in it. The other threads stay where they are. */
function enter(path: string): void {
  const namespace = libc.open(path, O_CLOEXEC | O_NONBLOCK);
  if (namespace < 0) throw refused(`open the network namespace ${path}`, "Is it still there?", "no-netns");
  const entered = libc.setns(namespace, CLONE_NEWNET);
  const error = entered < 0 ? refused(`enter the network namespace ${path}`, "CAP_SYS_ADMIN is needed.") : undefined;
  libc.close(namespace);
  if (error !== undefined) throw error;
}

function tell(port: MessagePort, report: Report): void {
  port.postMessage(report, []);
}

if (parentPort !== null) {
  try {
    const thread = new Thread(workerData as ThreadPlan, parentPort);
    tell(parentPort, { kind: "ready" });
    thread.run();
  } catch (error) {
    tell(parentPort, { kind: "failed", ...kernelFailure(error) });
    parentPort.close();
  }
}
