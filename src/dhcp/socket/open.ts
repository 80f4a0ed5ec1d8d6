// Opens a wire: starts its thread, tells it what it is told, and hands on what it reports.
import { once } from "node:events";
import { Worker } from "node:worker_threads";

import { KernelError, libc, refused, SOCK_CLOEXEC, SOCK_NONBLOCK } from "../../linux/libc.ts";
import { V4Address } from "../../net/address.ts";
import { DhcpError } from "../error.ts";
import { type Binding, type BindingDefinition, compileBinding } from "../server/binding.ts";
import { compilePool, type PoolDefinition } from "../server/pool.ts";
import type {
  BindingChange,
  LinkDefinition,
  ProbeOptions,
  ProbeResult,
  RefusedBinding,
  Trace,
  TraceBatch,
  TraceOptions,
  WireCounters,
  WireHandler,
  WireOptions,
} from "./interface.ts";
import { unpackEffects } from "./messages/effect-queue.ts";
import type { Order, Report, ThreadPlan } from "./messages/orders.ts";
import { buffersOf, packBindings } from "./messages/pack-bindings.ts";
import { packPool } from "./messages/pack-pool.ts";
import type { OpenWire, Wire } from "./wire.ts";

const serverPort = 67;
/** What a message leaves behind is garbage at once: a large young generation would be memory without use. */
const youngMiB = 8;
const probeMs = { default: 1000, min: 20, max: 10_000 } as const;

/** Rejects where the thread cannot work at all: a namespace that is not there, a UDP port that is taken. */
export const openWire: OpenWire = async (options) => {
  // EFD_CLOEXEC and EFD_NONBLOCK are those of sockets.
  const wake = libc.eventfd(0, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (wake < 0) throw refused("open an eventfd", "Raise the limit of open files.");
  const wire = new ThreadWire(options, wake);
  try {
    await wire.started;
    return wire;
  } catch (error) {
    await wire.close();
    throw error;
  }
};

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

class ThreadWire implements Wire {
  readonly started: Promise<void>;
  readonly #handler: WireHandler;
  readonly #wake: number;
  readonly #thread: Worker;
  readonly #exited: Promise<unknown>;
  /** Key: the number of the order: probes and counts. */
  readonly #waiting = new Map<number, Waiting>();
  /** Key: the number of the order. */
  readonly #traces = new Map<number, (batch: TraceBatch) => void>();
  readonly #ready = Promise.withResolvers<void>();
  #lastId = 0;
  #isOver = false;
  #isClosing = false;

  constructor({ handler, relay, netns, rateLimit }: WireOptions, wake: number) {
    this.#handler = handler;
    this.#wake = wake;
    const plan: ThreadPlan = {
      netns,
      rateLimit,
      wake,
      relay: relay && { address: relay.address.value, port: relay.port ?? serverPort },
    };
    this.#thread = new Worker(new URL("./thread.ts", import.meta.url), {
      name: "dhcp",
      workerData: plan,
      resourceLimits: { maxYoungGenerationSizeMb: youngMiB },
    });
    this.#exited = once(this.#thread, "exit");
    this.#exited.catch(() => {}); // an error comes first; #lose has it
    this.#thread.on("message", (report: Report) => this.#hear(report));
    this.#thread.on("error", (error) => this.#lose(error));
    this.#thread.on("exit", () => {
      this.#lose(new KernelError("closed", "The wire's thread has ended."));
      libc.close(wake);
    });
    this.started = this.#ready.promise;
    this.started.catch(() => {}); // whoever opens the wire has it
  }

  setLink(link: LinkDefinition): void {
    this.#order({ kind: "link", link });
  }

  deleteNetwork(network: string): void {
    this.#order({ kind: "delete-network", network });
  }

  setPool(network: string, pool: PoolDefinition): void {
    this.#order({ kind: "pool", network, pool: packPool(compilePool(pool)) });
  }

  deletePool(network: string, pool: string): void {
    this.#order({ kind: "delete-pool", network, pool });
  }

  changeBindings(network: string, { set = [], delete: deleted = [] }: BindingChange): readonly RefusedBinding[] {
    return this.#orderBindings(network, set, deleted, false);
  }

  replaceBindings(network: string, bindings: readonly BindingDefinition[]): readonly RefusedBinding[] {
    return this.#orderBindings(network, bindings, [], true);
  }

  setQuarantine(network: string, address: V4Address, untilMs: number | undefined): void {
    const until = untilMs === undefined ? {} : { untilMs };
    this.#order({ kind: "quarantine", network, address: address.value, ...until });
  }

  answerFor(network: string, address: V4Address, isOn: boolean): void {
    this.#order({ kind: "answer", network, address: address.value, isOn });
  }

  async probe(network: string, address: V4Address, options: ProbeOptions = {}): Promise<ProbeResult> {
    const { timeoutMs = probeMs.default, signal } = options;
    if (!(timeoutMs >= probeMs.min && timeoutMs <= probeMs.max)) {
      const message = `A probe takes ${probeMs.min} to ${probeMs.max} ms, not ${timeoutMs}: correct timeoutMs.`;
      throw new KernelError("bad-argument", message);
    }
    signal?.throwIfAborted();
    const id = ++this.#lastId;
    const onAbort = () => {
      this.#order({ kind: "forget-probe", id, network });
      this.#settle(id)?.reject(signal!.reason as Error);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return (await this.#ask(id, { kind: "probe", id, network, address: address.value, timeoutMs })) as ProbeResult;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async counters(): Promise<WireCounters> {
    const id = ++this.#lastId;
    return (await this.#ask(id, { kind: "count", id })) as WireCounters;
  }

  trace(options: TraceOptions, onBatch: (batch: TraceBatch) => void): Trace {
    const id = ++this.#lastId;
    this.#traces.set(id, onBatch);
    this.#order({ kind: "trace", id, options });
    return {
      close: () => {
        if (this.#traces.delete(id)) this.#order({ kind: "end-trace", id });
      },
    };
  }

  send(network: string, frame: Uint8Array): void {
    this.#order({ kind: "send", network, frame });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#order({ kind: "stop" });
    await this.#exited.catch(() => {});
  }

  #orderBindings(
    network: string,
    definitions: readonly BindingDefinition[],
    deleted: readonly V4Address[],
    isReplacing: boolean,
  ): readonly RefusedBinding[] {
    const bindings: Binding[] = [];
    const refusedOnes: RefusedBinding[] = [];
    for (const binding of definitions) {
      try {
        bindings.push(compileBinding(binding));
      } catch (error) {
        if (!(error instanceof DhcpError)) throw error;
        refusedOnes.push({ binding, error });
      }
    }
    const set = packBindings(bindings);
    const addresses = Uint32Array.from(deleted, ({ value }) => value);
    this.#order({ kind: "bindings", network, isReplacing, deleted: addresses, set }, buffersOf(set));
    return refusedOnes;
  }

  #ask(id: number, order: Order): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#isOver) return reject(new KernelError("closed", "The wire is closed: open another."));
      this.#waiting.set(id, { resolve, reject });
      this.#order(order);
    });
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  /** To a thread that is lost nothing is said: whoever opened the wire has heard of it. */
  #order(order: Order, transferred: ArrayBuffer[] = []): void {
    if (this.#isOver) return;
    this.#thread.postMessage(order, transferred);
    libc.write(this.#wake, one, one.length);
  }

  #hear(report: Report): void {
    switch (report.kind) {
      case "ready":
        return this.#ready.resolve();
      case "failed":
        return this.#ready.reject(new KernelError(report.code, report.message));
      case "batch":
        return this.#hearBatch(report);
      case "link":
        return this.#handler.link(report.report);
      case "contested":
        return this.#handler.contested({ ...report, address: new V4Address(report.address) });
      case "probed":
        return this.#settle(report.id)?.resolve(report.result);
      case "probe-failed":
        return this.#settle(report.id)?.reject(new KernelError(report.code, report.message));
      case "counted":
        return this.#settle(report.id)?.resolve(report.counters);
    }
  }

  #hearBatch({ effects, frames, traces }: Extract<Report, { kind: "batch" }>): void {
    try {
      const unpacked = unpackEffects(effects);
      if (unpacked.length > 0) this.#handler.effects(unpacked);
      if (frames.length > 0) this.#handler.frames?.(frames);
      for (const { id, batch } of traces) this.#traces.get(id)?.(batch);
    } finally {
      this.#order({ kind: "taken" });
    }
  }

  #lose(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ready.reject(error);
    const closed = new KernelError("closed", `The wire is closed: ${error.message}`, { cause: error });
    for (const { reject } of this.#waiting.values()) reject(closed);
    this.#waiting.clear();
    if (!this.#isClosing) this.#handler.lost(error);
  }
}

/** What an eventfd takes: a number that is added. */
const one = Buffer.from(BigUint64Array.of(1n).buffer);
