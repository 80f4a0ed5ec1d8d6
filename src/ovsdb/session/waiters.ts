// Those who wait for something to be so: each looks now, and again whenever something has happened.
import { orAborted } from "../clock.ts";
import { asError } from "../error.ts";

export class Waiters {
  readonly #looks = new Set<() => void>();

  /** What `look` finds, as soon as it finds something; `otherwise`, if the signal ends the wait. */
  until<T>(look: () => T | undefined, signal: AbortSignal, otherwise: () => Error): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const again = () => {
      try {
        const found = look();
        if (found !== undefined) resolve(found);
      } catch (error) {
        reject(asError(error));
      }
    };
    this.#looks.add(again);
    again();
    return orAborted(promise, signal, otherwise).finally(() => this.#looks.delete(again));
  }

  wake(): void {
    for (const look of Array.from(this.#looks)) look();
  }
}
