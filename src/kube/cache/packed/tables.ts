// What packed objects have in common, written once: texts of fields that repeat, and the names of an object's fields.
// Both only grow, and tenants write what goes in: what comes after the limit is written into each object.

/** Times are many, too. About 100 bytes each. */
const textsMax = 10_000;
const textCharsMax = 200;
/** Lists of field names. Labels make many. */
const shapesMax = 1000;
const shapeCharsMax = 500;

export class Tables {
  readonly #texts: string[] = [];
  readonly #textNumbers = new Map<string, number>();
  readonly #shapes: (readonly string[])[] = [];
  /** The names as JSON -> their place in #shapes. */
  readonly #shapeNumbers = new Map<string, number>();

  /** Undefined: it is not to be shared. */
  textOf(text: string): number | undefined {
    const known = this.#textNumbers.get(text);
    if (known !== undefined) return known;
    if (this.#texts.length >= textsMax || text.length > textCharsMax) return undefined;
    return number(this.#textNumbers, text, this.#texts, text);
  }

  text(at: number): string {
    return this.#texts[at]!;
  }

  /** Undefined: the names are to be written with the object. */
  shapeOf(keys: readonly string[]): number | undefined {
    const joined = JSON.stringify(keys);
    const known = this.#shapeNumbers.get(joined);
    if (known !== undefined) return known;
    if (this.#shapes.length >= shapesMax || joined.length > shapeCharsMax) return undefined;
    return number(this.#shapeNumbers, joined, this.#shapes, keys);
  }

  shape(at: number): readonly string[] {
    return this.#shapes[at]!;
  }
}

function number<T>(numbers: Map<string, number>, key: string, all: T[], value: T): number {
  numbers.set(key, all.length);
  return all.push(value) - 1;
}
