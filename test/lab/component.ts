// One long-running program of a cluster: started, killed, paused and restarted by the pid that was recorded.
//
// Promised: when start() resolves it is ready; when kill() resolves it has ended; it dies with this process. Its output
// goes to a file, and an early end is an error that shows the last lines of it.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";

import { dyingWithParent, type Place } from "./place.ts";
import { childrenOf, isAlive, type ProcessIdentity, sendSignal, stopProcess } from "./process.ts";
import type { StateFile } from "./state.ts";
import { until } from "./wait.ts";

export interface ComponentPlan {
  readonly name: string;
  readonly command: readonly string[];
  readonly place: Place;
  readonly logFile: string;
  /** True once it serves; asked every `everyMs` after the start, 20 by default. */
  readonly isReady: () => Promise<boolean>;
  readonly everyMs?: number;
}

export class ComponentError extends Error {
  override readonly name = "ComponentError";
  readonly code: "EndedEarly" | "NotReady";

  constructor(code: ComponentError["code"], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export class Component {
  readonly plan: ComponentPlan;
  readonly #state: StateFile;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #identity: ProcessIdentity | undefined;

  constructor(plan: ComponentPlan, state: StateFile) {
    this.plan = plan;
    this.#state = state;
  }

  /** The program's own pid, not its wrapper's. */
  get pid(): number | undefined {
    return this.#identity?.pid;
  }

  get running(): boolean {
    return this.#identity !== undefined && isAlive(this.#identity);
  }

  async start(signal?: AbortSignal): Promise<void> {
    if (this.running) return;
    const { plan } = this;
    const log = openSync(plan.logFile, "a");
    const inner = plan.place.forks ? dyingWithParent(plan.command) : plan.command;
    const [program = "", ...args] = dyingWithParent(plan.place.wrap(inner));
    // Detached: a terminal's Ctrl-C is for the owner, who then ends everything in order.
    const child = spawn(program, args, { stdio: ["ignore", log, log], cwd: "/", detached: true });
    closeSync(log);
    this.#child = child;
    let failure: Error | undefined;
    this.#ended = new Promise((resolve) => {
      child.once("error", (error) => (failure = error));
      child.once("close", () => resolve());
    });
    if (child.pid === undefined) {
      await this.#ended;
      throw new ComponentError("EndedEarly", `${plan.name} could not be started`, failure);
    }
    const wrapper = this.#state.recordProcess(plan.name, child.pid, plan.place.forks);
    this.#identity = plan.place.forks ? undefined : wrapper;
    await this.#whileRunning(async () => {
      this.#identity ??= this.#findProgram(wrapper.pid);
      return this.#identity !== undefined && (await plan.isReady());
    }, signal);
  }

  #findProgram(wrapperPid: number): ProcessIdentity | undefined {
    const [pid] = childrenOf(wrapperPid);
    return pid === undefined ? undefined : this.#state.recordProcess(this.plan.name, pid);
  }

  /** Asks until it is ready, and not a moment longer than it runs. */
  async #whileRunning(isReady: () => Promise<boolean>, signal: AbortSignal | undefined): Promise<void> {
    const { name, everyMs = 20 } = this.plan;
    let endedEarly = false;
    const ask = async () => {
      endedEarly = this.#hasEnded;
      return endedEarly || (await isReady());
    };
    await until(ask, { what: `${name} to be ready`, everyMs, signal }).catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw new ComponentError("NotReady", `${name} did not become ready; its last words:\n${this.logTail()}`, cause);
    });
    if (endedEarly) throw new ComponentError("EndedEarly", `${name} ended at once; its last words:\n${this.logTail()}`);
  }

  get #hasEnded(): boolean {
    return this.#child === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** SIGKILL, as a machine that loses power; resolves when it has ended. Nothing to do when it has ended already. */
  async kill(): Promise<void> {
    if (this.#identity !== undefined) sendSignal(this.#identity, "SIGKILL");
    // A wrapper must live to collect its program, and nsenter stops itself when its program is stopped.
    const collects = this.plan.place.forks && this.#identity !== undefined;
    if (!this.#hasEnded) this.#child?.kill(collects ? "SIGCONT" : "SIGKILL");
    await this.#ended;
  }

  async restart(signal?: AbortSignal): Promise<void> {
    await this.kill();
    await this.start(signal);
  }

  /** The process stands still: its sockets stay open and nothing answers. */
  pause(): void {
    if (this.#identity !== undefined) stopProcess(this.#identity);
  }

  resume(): void {
    if (this.#identity !== undefined) sendSignal(this.#identity, "SIGCONT");
    if (!this.#hasEnded) this.#child?.kill("SIGCONT");
  }

  logTail(lines = 15): string {
    try {
      return readFileSync(this.plan.logFile, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
    } catch {
      return "(no log)";
    }
  }
}
