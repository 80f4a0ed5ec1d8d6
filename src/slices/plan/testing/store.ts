// The API server of the simulation: one status, the slice objects, the reservations. Every write of an object has a
// version, and a guarded write is refused at another version.
import type { NodeWord, SliceGrant } from "../../../api/slices/slice-grant.ts";
import type { Prefix } from "../../../net/prefix.ts";
import { keyOf } from "../entry.ts";
import type { Allocation } from "../facts.ts";

export interface StoredSlice extends Allocation {
  readonly version: number;
  readonly grant?: SliceGrant;
  readonly word?: NodeWord;
  /** address (text) -> pod */
  readonly mirror: ReadonlyMap<string, string>;
}

export interface StoredStatus {
  readonly version: number;
  readonly allocations: readonly Allocation[];
  readonly lastGeneration: number;
}

export interface StoredState {
  readonly version: number;
  readonly floating?: Prefix;
}

export class Store {
  #version = 0;
  status: StoredStatus = { version: 0, allocations: [], lastGeneration: 0 };
  state: StoredState = { version: 0 };
  /** keyOf -> object */
  readonly slices = new Map<string, StoredSlice>();
  /** address (text) -> pod */
  readonly reservations = new Map<string, string>();

  /** Greater with every write that changed anything. */
  get version(): number {
    return this.#version;
  }

  /** Undefined: refused, it exists. */
  create(at: Allocation): number | undefined {
    if (this.slices.has(keyOf(at))) return undefined;
    this.slices.set(keyOf(at), { node: at.node, block: at.block, version: ++this.#version, mirror: new Map() });
    return this.#version;
  }

  /** Guarded where a version is given. */
  remove(key: string, version: number | undefined): boolean {
    const found = this.slices.get(key);
    if (found === undefined) return true;
    if (version !== undefined && found.version !== version) return false;
    this.#version += 1;
    return this.slices.delete(key);
  }

  /** Guarded where a version is given; unchanged contents make no version, as in Kubernetes. */
  patch(key: string, change: Partial<StoredSlice>, version?: number): boolean {
    const found = this.slices.get(key);
    if (found === undefined || (version !== undefined && found.version !== version)) return false;
    const next = { ...found, ...change };
    if (textOf(next) === textOf(found)) return true;
    this.slices.set(key, { ...next, version: ++this.#version });
    return true;
  }

  writeStatus({ allocations, lastGeneration }: Omit<StoredStatus, "version">, version: number): boolean {
    const next = { version: 0, allocations, lastGeneration };
    if (this.status.version !== version) return false;
    const isSame = textOf({ ...this.status, version: 0 }) === textOf(next);
    if (!isSame) this.status = { ...next, version: ++this.#version };
    return true;
  }

  writeState(floating: Prefix | undefined, version: number): boolean {
    if (this.state.version !== version) return false;
    if (String(this.state.floating) === String(floating)) return true;
    this.state = { version: ++this.#version, ...(floating !== undefined && { floating }) };
    return true;
  }

  reserve(address: string, pod: string): boolean {
    const holder = this.reservations.get(address);
    if (holder !== undefined) return holder === pod;
    this.#version += 1;
    this.reservations.set(address, pod);
    return true;
  }

  unreserve(address: string): void {
    if (this.reservations.delete(address)) this.#version += 1;
  }
}

function textOf(value: object): string {
  return JSON.stringify(value, (_, each: unknown) => (each instanceof Map ? [...each] : each));
}
