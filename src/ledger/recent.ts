// The objects that this process wrote or read last, by the version of their hold: a release that names its version then needs
// no read. The version is of that very state of the object, so what is kept here cannot be out of date: the server refuses a
// write that is guarded by an older one.
import type { HeldObject } from "./held-objects.ts";

/** A node has 250 pods as a rule, with up to 10 networks each, and about 1.5 KB per object: 6 MB at most. */
const most = 4096;

export class RecentObjects {
  /** Version -> the object, the oldest first. */
  readonly #objects = new Map<string, HeldObject>();

  get(version: string): HeldObject | undefined {
    return this.#objects.get(version);
  }

  keep(version: string, object: HeldObject): void {
    // Nobody reads them here, and they are half of the object.
    const { managedFields: _, ...metadata } = object.metadata;
    this.#objects.set(version, { ...object, metadata });
    for (const oldest of this.#objects.keys()) {
      if (this.#objects.size <= most) break;
      this.#objects.delete(oldest);
    }
  }

  forget(version: string): void {
    this.#objects.delete(version);
  }
}
