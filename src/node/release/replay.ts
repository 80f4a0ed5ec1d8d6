// Carries intents out: recorded releases, one after another, until each is known to be done.
import { deadline, sleep } from "../../kube/clock.ts";
import type { DaemonContext } from "../context.ts";
import { type AttachmentKey, attachmentKey } from "../request/attachment.ts";
import type { Intent } from "./intents.ts";

/** Doubled from the first to the last after every round that failed. */
const firstPauseMs = 500;
const longestPauseMs = 30_000;
/** So many failures in one round mean that the API server is away again, not that these releases are special. */
const failuresMax = 5;
/** One release: some requests of milliseconds each; beyond that the API server is away again. */
const releaseMs = 20_000;

export class Replay {
  readonly #parts: DaemonContext;
  #wake = () => {};
  /** Intents that failed last: tried after all others, so that one that cannot be done keeps nobody back. */
  readonly #failed = new Set<AttachmentKey>();

  constructor(parts: DaemonContext) {
    this.#parts = parts;
  }

  wake(): void {
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!signal.aborted) {
      const isDone = await this.#round(signal);
      if (signal.aborted) return;
      pauseMs = isDone ? firstPauseMs : Math.min(2 * pauseMs, longestPauseMs);
      await this.#pause(isDone ? longestPauseMs : pauseMs, isDone, signal);
    }
  }

  async #round(signal: AbortSignal): Promise<boolean> {
    const { intents, readiness } = this.#parts;
    let failures = 0;
    for (const intent of this.#inOrder()) {
      if (signal.aborted || !readiness.mayRelease || failures === failuresMax) break;
      const key = attachmentKey(intent);
      this.#failed.delete(key);
      if (await this.#one(intent, signal)) continue;
      this.#failed.add(key); // behind those that failed before it
      failures += 1;
    }
    return intents.size === 0;
  }

  #inOrder(): Intent[] {
    const all = new Map(this.#parts.intents.all().map((intent) => [attachmentKey(intent), intent]));
    const failed = [...this.#failed].flatMap((key) => all.get(key) ?? []);
    for (const key of this.#failed) if (!all.delete(key)) this.#failed.delete(key);
    return [...all.values(), ...failed];
  }

  async #one(intent: Intent, signal: AbortSignal): Promise<boolean> {
    const { attachments, intents, releases, clock, log, gone } = this.#parts;
    const { containerId, interfaceName } = intent;
    try {
      await attachments.check(intent, signal, async () => {
        const current = intents.get(intent); // an ADD of the same sandbox may have withdrawn it meanwhile
        if (current === undefined) return;
        using limit = deadline(clock, releaseMs, signal);
        const freed = await releases.release(current, limit.signal);
        await intents.remove(current);
        gone.set(attachmentKey(current), true);
        log.info("released, as promised before", { containerId, interfaceName, freed });
      });
      return true;
    } catch (error) {
      log.warn("a recorded release has to wait", { containerId, interfaceName, error });
      return false;
    }
  }

  /** Woken at once where nothing was left; where something failed, the pause stands, so that nobody hammers. */
  async #pause(ms: number, mayWake: boolean, signal: AbortSignal): Promise<void> {
    const early = new AbortController();
    this.#wake = () => mayWake && early.abort();
    await sleep(this.#parts.clock, ms, AbortSignal.any([signal, early.signal]));
    this.#wake = () => {};
  }
}
