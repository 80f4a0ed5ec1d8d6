// One thing about one object that keeps it, or a part of it, from being served. Told once, until it changes.
import type { Log } from "../../log/log.ts";

/** Of more objects than that, what was told is forgotten, and told again: 4,096 x 300 B = 1.2 MiB. */
const objectsMax = 4096;

/** Remembers what was told of each object, so that it is told once and not at every change of something else. */
export class Findings {
  /** Key: the object, as it is named in messages. */
  readonly #told = new Map<string, string>();
  readonly #log: Pick<Log, "warn">;

  constructor(log: Pick<Log, "warn">) {
    this.#log = log;
  }

  /** How many objects have one. */
  get size(): number {
    return this.#told.size;
  }

  /** All that is wrong with the object now; nothing ends what was told of it before. */
  tell(object: string, sentences: readonly string[], what = "not served as it is written"): void {
    const text = sentences.join(" ");
    if ((this.#told.get(object) ?? "") === text) return;
    if (text === "") {
      this.#told.delete(object);
      return;
    }
    if (this.#told.size >= objectsMax) this.#told.clear();
    this.#told.set(object, text);
    this.#log.warn(what, { object, why: text });
  }

  all(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#told);
  }
}
