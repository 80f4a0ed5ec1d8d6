// Versions of holds, as numbers: the UID of an object in four words, and its resourceVersion. By row.

/** As src/api/holds/version.ts writes them, on every server that is known. */
const pattern = /^([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})([0-9a-f]{8})@([1-9]\d{0,14})$/;
const wordsPerRow = 4;

export class Versions {
  #uids = new Uint32Array(64);
  readonly #resourceVersions: number[] = [];

  /** False: it is none of those that fit, and nothing is kept. */
  set(row: number, version: string): boolean {
    const parts = pattern.exec(version);
    if (parts === null) return false;
    const [, a = "", b = "", c = "", d = "", e = "", f = "", resourceVersion = ""] = parts;
    this.#reserve(wordsPerRow * (row + 1));
    [a, b + c, d + e, f].forEach((hex, word) => (this.#uids[wordsPerRow * row + word] = Number.parseInt(hex, 16)));
    // In order, so that V8 keeps numbers and no holes.
    while (this.#resourceVersions.length < row) this.#resourceVersions.push(0);
    this.#resourceVersions[row] = Number(resourceVersion);
    return true;
  }

  get(row: number): string {
    const [a = "", b = "", c = "", d = ""] = Array.from({ length: wordsPerRow }, (_, word) =>
      this.#uids[wordsPerRow * row + word]!.toString(16).padStart(8, "0"),
    );
    return `${a}-${b.slice(0, 4)}-${b.slice(4)}-${c.slice(0, 4)}-${c.slice(4)}${d}@${this.#resourceVersions[row]}`;
  }

  #reserve(words: number): void {
    if (words <= this.#uids.length) return;
    const larger = new Uint32Array(Math.max(words, Math.ceil(1.5 * this.#uids.length)));
    larger.set(this.#uids);
    this.#uids = larger;
  }
}
