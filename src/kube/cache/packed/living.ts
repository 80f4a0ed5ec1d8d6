// Packed objects that somebody may still have, as the objects that they are: whoever asks again gets the same one.
import type { ObjectKey } from "../../meta.ts";
import { Recent } from "../recent.ts";

/** Kept although nobody has them: a reconciler asks for an object several times. Some KB each. */
const recentMax = 100;

export class Living<T extends object> {
  readonly #recent = new Recent<T>(recentMax);
  readonly #refs = new Map<ObjectKey, WeakRef<T>>();
  readonly #gone = new FinalizationRegistry<ObjectKey>((key) => {
    // Another may live under the key by now.
    if (this.#refs.get(key)?.deref() === undefined) this.#refs.delete(key);
  });

  /** Undefined: it is to be made anew. */
  get(key: ObjectKey): T | undefined {
    const recent = this.#recent.get(key);
    if (recent === undefined) return this.#refs.get(key)?.deref();
    return this.#refs.has(key) ? recent : this.given(key, recent);
  }

  /** Somebody has it from now on. V8 keeps what is weakly referred to until this turn of the event loop ends. */
  given(key: ObjectKey, object: T): T {
    this.#recent.set(key, object);
    this.#refs.set(key, new WeakRef(object));
    this.#gone.register(object, key);
    return object;
  }

  /** Not asked for yet, and likely to be. */
  came(key: ObjectKey, object: T): void {
    this.#recent.set(key, object);
  }

  /** For a look in passing. */
  peek(key: ObjectKey): T | undefined {
    return this.#recent.get(key) ?? this.#refs.get(key)?.deref();
  }

  delete(key: ObjectKey): void {
    this.#recent.delete(key);
    this.#refs.delete(key);
  }
}
