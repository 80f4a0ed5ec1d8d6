// Freezes cached objects: all readers share them, and JavaScript has no habit of copying, so nobody may change them.
import type { DeepReadonly } from "../meta.ts";

/** Freezes JSON-like values in place. Kubernetes objects nest at most some dozen levels, so recursion is safe. */
export function deepFreeze<T>(value: T): DeepReadonly<T> {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) if (typeof each === "object") deepFreeze(each);
  }
  return value as DeepReadonly<T>;
}
