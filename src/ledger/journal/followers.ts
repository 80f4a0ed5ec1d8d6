// Who is told that a domain has changed. What changes in one turn is told once.
import type { Domain } from "../../ipam/ledger.ts";

type Listener = (domain: Domain) => void;

export class Followers {
  readonly #listeners = new Set<Listener>();
  #changed = new Set<Domain>();
  readonly #onError: (error: unknown) => void;

  /** A listener that throws harms nobody else. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(domain: Domain): void {
    if (this.#changed.size === 0) queueMicrotask(() => this.#flush());
    this.#changed.add(domain);
  }

  #flush(): void {
    const changed = this.#changed;
    this.#changed = new Set();
    for (const domain of changed) {
      for (const listener of this.#listeners) {
        try {
          listener(domain);
        } catch (error) {
          this.#onError(error);
        }
      }
    }
  }
}
