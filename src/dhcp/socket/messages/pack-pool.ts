// A pool on its way to the wire's thread. It is checked before it goes: the thread refuses nothing.
import type { RawOption } from "../../message/placement.ts";
import { Parameters } from "../../server/parameters.ts";
import type { Pool } from "../../server/pool.ts";

export interface PackedPool {
  readonly rest: Omit<Pool, "parameters">;
  readonly options: readonly RawOption[];
  readonly always: readonly RawOption[];
}

export function packPool({ parameters, ...rest }: Pool): PackedPool {
  return { rest, options: parameters.all, always: parameters.always };
}

export function unpackPool({ rest, options, always }: PackedPool): Pool {
  return { ...rest, parameters: Parameters.restored(options, always) };
}
