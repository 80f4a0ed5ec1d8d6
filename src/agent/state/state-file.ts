// The file with what the agent served last: written after changes, read once at the start.
//
// Promised: the file is whole, the old one or the new one, whatever happens; at most one write a second, and none that
// take more than a tenth of the time. Not promised: that the last second before a crash is in it.
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import { asError } from "../../kube/abort.ts";
import { type Clock, sleep } from "../../kube/clock.ts";
import { type AgentState, decodeState, encodeState, type StateToWrite } from "./state-text.ts";

/** The disk as a state file needs it. */
export interface StateDisk {
  /** Undefined: there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /** Replaces the file in one step, and survives a power cut when it resolves. */
  replace(path: string, pieces: readonly Buffer[]): Promise<void>;
}

export interface StateFileOptions {
  readonly folder: string;
  readonly disk?: StateDisk;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
}

const fileName = "dhcp-agent.state";
const pauseMs = 1000;
/** Writing 10,000 bindings takes 50 ms: the agent writes for a tenth of its time at most. */
const pausePerWrite = 10;

export class StateFile {
  readonly #options: StateFileOptions & { readonly disk: StateDisk };
  readonly #path: string;
  #isChanged = false;
  #wake = () => {};

  constructor(options: StateFileOptions) {
    this.#options = { disk: realStateDisk, ...options };
    this.#path = join(options.folder, fileName);
  }

  /** Undefined where there is none, or none that can be used: the second is told. */
  async read(): Promise<AgentState | undefined> {
    try {
      const bytes = await this.#options.disk.read(this.#path);
      return bytes && decodeState(bytes);
    } catch (error) {
      this.#options.onError(new Error(`${this.#path}: ${asError(error).message}`, { cause: error }));
      return undefined;
    }
  }

  /** What is to be saved is asked for when it is written. */
  touch(): void {
    this.#isChanged = true;
    this.#wake();
  }

  /** Writes after each change until the signal aborts, and then once more if something is left. */
  async run(state: () => StateToWrite | undefined, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
    while (!signal.aborted) {
      if (!this.#isChanged) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      this.#isChanged = false;
      const startedMs = clock.monotonicMs();
      await this.#write(state());
      const tookMs = clock.monotonicMs() - startedMs;
      await sleep(clock, Math.max(pauseMs, pausePerWrite * tookMs), signal);
    }
    if (this.#isChanged) await this.#write(state());
  }

  async #write(state: StateToWrite | undefined): Promise<void> {
    if (state === undefined) return;
    try {
      await this.#options.disk.replace(this.#path, encodeState(state));
    } catch (error) {
      this.#options.onError(new Error(`${this.#path} cannot be written: ${asError(error).message}`, { cause: error }));
      this.touch();
    }
  }
}

const realStateDisk: StateDisk = {
  async read(path) {
    try {
      return await readFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  },
  async replace(path, pieces) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const next = `${path}.next`;
    try {
      await using file = await open(next, "w", 0o600);
      await file.writeFile(pieces);
      await file.datasync();
    } catch (error) {
      await rm(next, { force: true });
      throw error;
    }
    await rename(next, path);
    await using folder = await open(dirname(path), "r");
    await folder.sync();
  },
};
