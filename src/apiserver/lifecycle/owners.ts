// Who depends on whom: for each uid that some owner reference names, the objects that name it.
import type { OwnerReference } from "../object.ts";
import { type Change, type Entry, idOf, type StoredPlace } from "../store/entry.ts";
import type { Store } from "../store/store.ts";

export class Owners {
  /** Owner's uid -> (resource and key of a dependent -> where it is). */
  readonly #dependents = new Map<string, Map<string, StoredPlace>>();

  constructor(store: Store) {
    for (const resource of store.resources()) {
      for (const entry of store.collection(resource).values()) this.#add(entry);
    }
  }

  apply(change: Change): void {
    if (change.previous !== undefined) this.#remove(change.previous);
    if (change.type !== "DELETED") this.#add(change.entry);
  }

  dependentsOf(uid: string): StoredPlace[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  /** Every object that names an owner. */
  *all(): Generator<StoredPlace> {
    for (const dependents of this.#dependents.values()) yield* dependents.values();
  }

  #add(entry: Entry): void {
    for (const { uid } of ownersOf(entry)) {
      let dependents = this.#dependents.get(uid);
      if (dependents === undefined) this.#dependents.set(uid, (dependents = new Map()));
      dependents.set(idOf(entry), { resource: entry.resource, namespace: entry.namespace, name: entry.name });
    }
  }

  #remove(entry: Entry): void {
    for (const { uid } of ownersOf(entry)) {
      const dependents = this.#dependents.get(uid);
      dependents?.delete(idOf(entry));
      if (dependents?.size === 0) this.#dependents.delete(uid);
    }
  }
}

/** Most objects have no owner: their text tells without parsing it. */
export function ownersOf(entry: Entry): readonly OwnerReference[] {
  if (!entry.json.includes('"ownerReferences"')) return [];
  return entry.object.metadata.ownerReferences ?? [];
}
