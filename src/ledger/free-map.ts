// (body follows)
import type { Address } from "../net/address.ts";
import type { Interval } from "../net/interval.ts";
import type { Prefix } from "../net/prefix.ts";
import type { ConfigMap } from "./resources.ts";

export interface FreeMap {
  /** namespace/name of the pool object. */
  readonly pool: string;
  readonly prefix: Prefix;
  /** What is held or cooling, in order. */
  readonly taken: readonly Interval[];
  /** Up to this address, itself included, `taken` has everything. Undefined: nothing is known. */
  readonly completeThrough: Address | undefined;
  readonly writtenMs: number;
  /** How many addresses are held, all of them. */
  readonly holders: number;
}

export function freeMapName(pool: string): string {
  return `holdfast-free-${pool}`;
}

/** The object to write. */
export function encodeFreeMap(_namespace: string, _map: Omit<FreeMap, "completeThrough">): ConfigMap {
  throw new Error("not built yet");
}

/** Undefined: it cannot be read, and there might as well be none. */
export function decodeFreeMap(_object: ConfigMap): FreeMap | undefined {
  throw new Error("not built yet");
}
