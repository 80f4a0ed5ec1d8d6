// The rows of one table by uuid, and by the keys of indexes. Invariant: every index names exactly the rows for which
// its function gives that key.
import type { Uuid } from "../notation/uuid.ts";
import type { AnyRow, Followed } from "./followed.ts";

/** For those who read. */
export type Rows<R extends AnyRow, Index extends string> = Pick<TableCache<R, Index>, "size" | "get" | "list" | "by">;

export class TableCache<R extends AnyRow = AnyRow, Index extends string = string> {
  readonly #followed: Followed<R, Index>;
  readonly #onError: (error: unknown) => void;
  readonly #rows = new Map<Uuid, R>();
  /** Index name -> key -> the row's uuid, or those of several. */
  readonly #indexes: ReadonlyMap<Index, Map<string, Set<Uuid>>>;

  /** `onError`: an index function threw; the row is then not in that index. */
  constructor(followed: Followed<R, Index>, onError: (error: unknown) => void) {
    this.#followed = followed;
    this.#onError = onError;
    this.#indexes = new Map(followed.indexes.map((name) => [name, new Map<string, Set<Uuid>>()]));
  }

  get size(): number {
    return this.#rows.size;
  }

  get(uuid: Uuid): R | undefined {
    return this.#rows.get(uuid);
  }

  list(): IterableIterator<R> {
    return this.#rows.values();
  }

  /** The rows that the index has under the key. */
  by(index: Index, key: string): readonly R[] {
    const uuids = this.#indexes.get(index)!.get(key);
    return uuids === undefined ? [] : Array.from(uuids, (uuid) => this.#rows.get(uuid)!);
  }

  /** Puts the row in the place of the one that it had; without a row, takes that away. */
  replace(uuid: Uuid, row: R | undefined): void {
    const before = this.#rows.get(uuid);
    for (const [name, index] of this.#indexes) {
      if (before !== undefined) for (const key of this.#keys(name, before)) remove(index, key, uuid);
      if (row !== undefined) for (const key of this.#keys(name, row)) add(index, key, uuid);
    }
    if (row === undefined) this.#rows.delete(uuid);
    else this.#rows.set(uuid, row);
  }

  #keys(name: Index, row: R): readonly string[] {
    try {
      return [...this.#followed.keysOf(name, row)];
    } catch (error) {
      this.#onError(error);
      return [];
    }
  }
}

function add(index: Map<string, Set<Uuid>>, key: string, uuid: Uuid): void {
  const uuids = index.get(key);
  if (uuids === undefined) index.set(key, new Set([uuid]));
  else uuids.add(uuid);
}

function remove(index: Map<string, Set<Uuid>>, key: string, uuid: Uuid): void {
  const uuids = index.get(key);
  if (uuids?.delete(uuid) === true && uuids.size === 0) index.delete(key);
}
