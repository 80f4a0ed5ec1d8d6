// ovsdb-server(7), section 4.1.14: how a `modify` of update2 and update3 tells what changed. For a column that may have
// more than one element it sends the difference, for any other the new value.
import type { Atom } from "./atom.ts";
import type { Value } from "./value.ts";

/** The value that `old` becomes. `difference` has the column's type, as every value of it. */
export function applyDifference(old: Value, difference: Value): Value {
  if (difference instanceof Set) return setWith(old as ReadonlySet<Atom>, difference as ReadonlySet<Atom>);
  if (difference instanceof Map) return mapWith(old as ReadonlyMap<Atom, Atom>, difference as ReadonlyMap<Atom, Atom>);
  return difference;
}

/** The difference has the elements that only one of the two sets has. */
function setWith(old: ReadonlySet<Atom>, difference: ReadonlySet<Atom>): ReadonlySet<Atom> {
  return old.symmetricDifference(difference);
}

/**
 * The difference has the pairs whose key only one of the two maps has, and, of keys that both have, those whose values
 * differ, with the new one. So a pair that is there already is one that goes.
 */
function mapWith(old: ReadonlyMap<Atom, Atom>, difference: ReadonlyMap<Atom, Atom>): ReadonlyMap<Atom, Atom> {
  const map = new Map(old);
  for (const [key, value] of difference) {
    if (map.get(key) === value) map.delete(key);
    else map.set(key, value);
  }
  return map;
}
