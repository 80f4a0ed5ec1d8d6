// Waiting for a condition by asking again and again: what controllers do behind a server takes its time.
import { setTimeout as sleep } from "node:timers/promises";

/** Garbage collection notices a new kind within 30 s, or 60 if a kind went meanwhile; four times that if busy. */
const patienceMs = 240_000;
/** Short against what is waited for, long against one request. */
const intervalMs = 50;

/** The first value that is neither false nor undefined. The limit is generous; speed is not asserted here. */
export async function until<T>(what: string, condition: () => Promise<T | false | undefined>): Promise<T> {
  const deadline = AbortSignal.timeout(patienceMs);
  for (;;) {
    const value = await condition();
    if (value !== false && value !== undefined) return value;
    if (deadline.aborted) throw new Error(`Waited ${patienceMs / 1000} s in vain until ${what}.`);
    await sleep(intervalMs);
  }
}
