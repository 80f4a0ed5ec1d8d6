// What of a pool's range is not to be handed out of slices: the reservation ledger's, and slices of an older range that overlaps and is
// still being drained.
//
// Promised: an address that a node's word says was moved is known to be held or to be gone before the slice that said it is forgotten.
import { parseAddress } from "../net/address.ts";
import type { Interval } from "../net/interval.ts";
import { intervalOf } from "../net/interval.ts";
import { overlaps } from "../net/prefix.ts";
import { readPool } from "./pool-object.ts";
import type { Reserved } from "./reserved.ts";
import type { SliceObject } from "./slice-object.ts";
import type { Target } from "./target.ts";
import type { SliceWorld } from "./world.ts";

export class ReservedView {
  readonly #reserved: Reserved;
  readonly #world: SliceWorld;
  /** UID of a slice -> the word whose moved addresses have been looked for. */
  readonly #lookedFor = new Map<string, string>();

  constructor(reserved: Reserved, world: SliceWorld) {
    this.#reserved = reserved;
    this.#world = world;
  }

  async of(target: Target, slices: readonly SliceObject[], signal: AbortSignal): Promise<Interval[]> {
    const scope = { namespace: target.namespace, network: target.network, pool: target.name, range: target.range };
    let held = this.#reserved.in(scope);
    const sealed = slices.filter(({ word }) => (word?.moved.length ?? 0) > 0);
    const unknown = sealed.filter((each) => this.#lookedFor.get(uidOf(each)) !== labelOf(each));
    const isMissing = unknown.some(({ word }) =>
      word!.moved.some((text) => !held.has(addressOf(text) ?? target.range.first)),
    );
    if (isMissing) {
      await this.#reserved.refresh(signal);
      held = this.#reserved.in(scope);
    }
    for (const each of unknown) this.#lookedFor.set(uidOf(each), labelOf(each));
    return [...held, ...this.#draining(target)];
  }

  /** A slice that is gone is not asked about again. */
  forget(slice: SliceObject): void {
    this.#lookedFor.delete(uidOf(slice));
  }

  #draining(target: Target): Interval[] {
    const found: Interval[] = [];
    for (const object of this.#world.pools.list()) {
      const pool = readPool(object);
      if (pool === undefined || pool.namespace !== target.namespace || pool.network !== target.network) continue;
      if (pool.name === target.name || !overlaps(pool.range, target.range)) continue;
      for (const { block } of pool.allocations) if (overlaps(block, target.range)) found.push(intervalOf(block));
    }
    return found;
  }
}

function uidOf({ object }: SliceObject): string {
  return object.metadata.uid ?? "";
}

/** Moved addresses of one generation only become more. */
function labelOf({ word }: SliceObject): string {
  return `${word?.generation ?? 0} ${word?.moved.length ?? 0}`;
}

function addressOf(text: string) {
  try {
    return parseAddress(text);
  } catch {
    return undefined;
  }
}
