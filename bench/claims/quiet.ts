// When the controller has nothing left to do: no key waits, no worker works, several looks long.
import { setTimeout as sleep } from "node:timers/promises";

const sample = /^(?:workqueue_depth|controller_runtime_active_workers)\{[^=}]*="([^"]*)"\} (\S+)$/gm;
const everyMs = 200;
/** Events come some milliseconds after the writes that cause them; workers gather for less than half a second. */
const looks = 4;
const limitMs = 600_000;

/** Keys that wait and workers that work, of one controller or of all, by its own metrics in Prometheus' text form. */
export function workLeft(text: string, controller?: string): number {
  const samples = Array.from(text.matchAll(sample), ([, name, value = "0"]) => ({ name, value: Number(value) }));
  const own = samples.filter(({ name }) => controller === undefined || name === controller);
  return own.reduce((sum, { value }) => sum + value, 0);
}

export async function quiet(metricsPort: () => number): Promise<void> {
  const endMs = performance.now() + limitMs;
  for (let calm = 0; calm < looks;) {
    const left = await lookAt(metricsPort());
    calm = left === 0 ? calm + 1 : 0;
    if (performance.now() > endMs)
      throw new Error(`the controller still has work after ${limitMs / 1000} s: ${left} keys`);
    if (calm < looks) await sleep(everyMs);
  }
}

/** While it does not answer, it is not quiet. */
export async function lookAt(metricsPort: number, controller?: string): Promise<number> {
  try {
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
    return workLeft(await answer.text(), controller);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
