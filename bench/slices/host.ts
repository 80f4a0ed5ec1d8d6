// A process of its own with a part of the daemons, as the benchmark sees it.
//
// The one thread of a process would slow 5,000 daemons down: some hundred share one. BENCH_CPU_PROF=folder: profiles.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import type { HostAnswer, HostQuestion, HostTask, HostTasks } from "./host-messages.ts";

const program = fileURLToPath(new URL("host-main.ts", import.meta.url));
/** A daemon has four threads for its disk to itself on a node; here some hundred share as many as help. */
const diskThreads = 16;
/** MiB: some hundred daemons at a few MiB each, and room for the collector. */
const heapMiB = 6144;
/** After SIGTERM; then SIGKILL. */
const endMs = 60_000;

interface Waiting {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

export class Host implements AsyncDisposable {
  readonly name: string;
  readonly #child: ChildProcess;
  /** Key: the question's serial number. */
  readonly #waiting = new Map<number, Waiting>();
  #serial = 0;

  constructor(name: string) {
    this.name = name;
    const profile = process.env["BENCH_CPU_PROF"];
    const profiling = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
    const execArgv = ["--expose-gc", `--max-old-space-size=${heapMiB}`, ...profiling];
    const env = { ...process.env, UV_THREADPOOL_SIZE: String(diskThreads) };
    this.#child = fork(program, [name], { execArgv, env, stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child.on("message", (message) => this.#heard(message as HostAnswer));
    this.#child.once("exit", (code, signal) => this.#ended(`${name} ended by itself: ${signal ?? code}`));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  ask<Task extends HostTask>(task: Task, ask: HostTasks[Task]["ask"]): Promise<HostTasks[Task]["answer"]> {
    const serial = ++this.#serial;
    const { promise, resolve, reject } = Promise.withResolvers<HostTasks[Task]["answer"]>();
    if (!this.#child.connected) return Promise.reject(new Error(`${this.name} has ended`));
    this.#waiting.set(serial, { resolve, reject });
    this.#child.send({ serial, task, ask } satisfies HostQuestion<Task>);
    return promise;
  }

  #heard({ serial, answer, failure }: HostAnswer): void {
    const waiting = this.#waiting.get(serial);
    this.#waiting.delete(serial);
    if (failure === undefined) waiting?.resolve(answer as never);
    else waiting?.reject(new Error(`${this.name}: ${failure}`));
  }

  #ended(reason: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
    this.#waiting.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const limit = setTimeout(() => this.#child.kill("SIGKILL"), endMs);
    await gone;
    clearTimeout(limit);
  }
}
