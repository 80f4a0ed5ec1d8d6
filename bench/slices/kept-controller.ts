// A controller that restarts when it ends, as in its Deployment: it ends itself if it cannot renew its lease in time.
import { setTimeout as sleep } from "node:timers/promises";

import type { BenchLab } from "../cni/lab.ts";
import { runController } from "../cni/stage.ts";

type Running = Awaited<ReturnType<typeof runController>>;

/** The kubelet's first pause before it starts a container again. */
const pauseMs = 10_000;
/** One that ends so often does not work at all. */
const mostEnds = 10;
const wordsKept = 300;

export class KeptController implements AsyncDisposable {
  readonly #lab: BenchLab;
  readonly #folder: string;
  readonly #ends: string[] = [];
  readonly #keeping: Promise<void>;
  #running: Running;
  #isOver = false;

  private constructor(lab: BenchLab, folder: string, running: Running) {
    this.#lab = lab;
    this.#folder = folder;
    this.#running = running;
    this.#keeping = this.#keep();
  }

  static async start(lab: BenchLab, folder: string): Promise<KeptController> {
    return new KeptController(lab, folder, await runController(lab, folder));
  }

  /** Of the one that runs now. */
  get pid(): number {
    return this.#running.pid;
  }

  get metricsPort(): number {
    return this.#running.metricsPort;
  }

  /** The last words of those that ended. */
  get ends(): readonly string[] {
    return this.#ends;
  }

  async #keep(): Promise<void> {
    while (this.#ends.length < mostEnds) {
      await this.#running.ended();
      if (this.#isOver) return;
      const words = this.#running.logTail().replaceAll(/\s+/g, " ").slice(-wordsKept);
      this.#ends.push(words);
      this.#lab.log(`the controller ended, and is started again: ${words}`);
      await sleep(pauseMs);
      if (this.#isOver) return;
      this.#running = await runController(this.#lab, this.#folder);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#running[Symbol.asyncDispose]();
    await this.#keeping;
    await this.#running[Symbol.asyncDispose](); // one that was being started meanwhile
  }
}
