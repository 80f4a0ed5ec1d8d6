// Addresses of the reservation ledger: no slice may hand them out. Informers tell them; where that is too late the
// server is asked, and its answer counts until they catch up or a later one lacks it. Read on demand: few clusters have
// slices. Promised: after `refresh`, each address with an object at the call, cooling too, is reserved until that goes.
import { tryAddress } from "../api/holds/address-name.ts";
import { parseDomain } from "../api/pools/domain.ts";
import { readPoolName } from "../api/pools/pool-name.ts";
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import type { SliceObject } from "../cluster/slice-object.ts";
import type { Domain, Hold } from "../ipam/ledger.ts";
import { orAborted } from "../kube/abort.ts";
import type { Informer } from "../kube/cache/informer.ts";
import { keyOf, type ObjectKey } from "../kube/meta.ts";
import { type HeldObject, listHolds, readHeld } from "../ledger/reservation/list-holds.ts";
import type { Address } from "../net/address.ts";
import { IntervalSet } from "../net/interval-set.ts";
import { type Interval, intervalOf } from "../net/interval.ts";
import { orNone } from "../net/or-none.ts";
import { contains, overlaps } from "../net/prefix.ts";
import type { SliceCaches } from "./caches.ts";
import type { RangePlace } from "./ranges/phases.ts";
import type { PoolTarget } from "./ranges/pool-targets.ts";
import { readPool } from "./writers/pool-object.ts";

export interface ReservedOptions extends Pick<ReconcilerOptions, "client" | "reservations" | "holds"> {
  readonly caches: SliceCaches;
  readonly onChange: (place: ReservedPlace) => void;
}

export interface ReservedPlace extends Pick<Hold, "domain" | "address"> {
  readonly namespace: string;
}

/** Address as text -> how many objects hold it. */
type Counted = Map<string, { readonly address: Address; count: number }>;

export class ReservedAddresses {
  readonly #options: ReservedOptions;
  /** Key of the object -> its addresses. */
  readonly #followed = new Map<ObjectKey, readonly ReservedPlace[]>();
  /** The same, of objects that a list had and informers have not told. */
  readonly #ahead = new Map<ObjectKey, readonly ReservedPlace[]>();
  /** Key: namespace and domain. */
  readonly #held = new Map<string, Counted>();
  /** UID of a slice -> the word whose moved addresses have been looked for. */
  readonly #lookedFor = new Map<string, string>();
  #isFollowing = false;
  #isKnown = false;
  /** The first list, shared by all who wait for it. */
  #first: Promise<void> | undefined;

  constructor(options: ReservedOptions) {
    this.#options = options;
  }

  /** Resolves when all objects that existed at the first call are known. Later ones count until `until` aborts. */
  async known(signal: AbortSignal, until: AbortSignal): Promise<void> {
    if (!this.#isFollowing) {
      this.#isFollowing = true;
      const { reservations, holds } = this.#options;
      const ends = [this.#follow(reservations), this.#follow(holds)];
      until.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
    }
    if (this.#isKnown) return;
    // A list of an earlier caller may be from before informers were followed.
    this.#first ??= this.refresh(until)
      .then(() => void (this.#isKnown = true))
      .finally(() => (this.#first = undefined));
    await orAborted(this.#first, signal);
  }

  async refresh(signal: AbortSignal): Promise<void> {
    const listed = new Map<ObjectKey, ReservedPlace[]>();
    for await (const each of listHolds(this.#options.client, { includeCooling: true, signal })) {
      const key = keyOfHeld(each.object);
      if (each.unreadable !== undefined || this.#followed.has(key)) continue;
      listed.set(key, [...(listed.get(key) ?? []), ...placesOf(each)]);
    }
    for (const [key, places] of this.#ahead) {
      if (listed.has(key)) continue;
      this.#ahead.delete(key);
      this.#count(places, -1);
    }
    for (const [key, places] of listed) {
      // The informer may have told the object while the list was read.
      if (this.#ahead.has(key) || this.#followed.has(key)) continue;
      this.#ahead.set(key, places);
      this.#count(places, 1);
    }
  }

  /** Objects that a list had and informers lack: the next refresh tells whether they are still there. */
  get isAhead(): boolean {
    return this.#ahead.size > 0;
  }

  #in(scope: RangePlace): IntervalSet {
    const found = new IntervalSet();
    for (const [place, addresses] of this.#held) {
      // A namespace has no blank.
      const blank = place.indexOf(" ");
      if (place.slice(0, blank) !== scope.namespace || !isOfRange(place.slice(blank + 1), scope)) continue;
      for (const { address } of addresses.values()) {
        if (contains(scope.range, address)) found.add({ first: address, last: address });
      }
    }
    return found;
  }

  #follow<T extends HeldObject>(informer: Informer<T>): () => void {
    return informer.handle(({ type, object }) => {
      const key = keyOfHeld(object as HeldObject);
      const before = this.#followed.get(key) ?? this.#ahead.get(key) ?? [];
      this.#ahead.delete(key);
      const places = type === "delete" ? [] : readHeld(object as HeldObject).flatMap(placesOf);
      if (type === "delete") this.#followed.delete(key);
      else this.#followed.set(key, places);
      this.#count(places, 1);
      this.#count(before, -1);
      if (!isSamePlaces(before, places)) for (const place of [...before, ...places]) this.#options.onChange(place);
    });
  }

  #count(places: readonly ReservedPlace[], by: 1 | -1): void {
    for (const { namespace, domain, address } of places) {
      const place = `${namespace} ${domain}`;
      const addresses: Counted = this.#held.get(place) ?? new Map();
      this.#held.set(place, addresses);
      const entry = addresses.get(`${address}`) ?? { address, count: 0 };
      entry.count += by;
      if (entry.count > 0) addresses.set(`${address}`, entry);
      else addresses.delete(`${address}`);
      if (addresses.size === 0) this.#held.delete(place);
    }
  }

  /**
   * Addresses that slices of a pool may not hand out: reserved ones, and slices of an overlapping older range that
   * drains. An address that a node's word calls moved is known to be held, or gone, before its slice is forgotten.
   */
  async of(target: PoolTarget, slices: readonly SliceObject[], signal: AbortSignal): Promise<Interval[]> {
    const scope = { ...target, pool: target.name };
    let held = this.#in(scope);
    const sealed = slices.filter(({ word }) => (word?.moved.length ?? 0) > 0);
    const unknown = sealed.filter((each) => this.#lookedFor.get(uidOf(each)) !== labelOf(each));
    const moved = unknown.flatMap(({ word }) => word!.moved);
    if (moved.some((text) => !held.has(tryAddress(text) ?? target.range.first))) {
      await this.refresh(signal);
      held = this.#in(scope);
    }
    for (const each of unknown) this.#lookedFor.set(uidOf(each), labelOf(each));
    return [...held, ...this.#draining(target)];
  }

  /** A deleted slice is not asked about again. */
  forget(slice: SliceObject): void {
    this.#lookedFor.delete(uidOf(slice));
  }

  #draining(target: PoolTarget): Interval[] {
    const found: Interval[] = [];
    for (const object of this.#options.caches.pools.list()) {
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

/** Moved addresses of one generation only grow in number. */
function labelOf({ word }: SliceObject): string {
  return `${word?.generation ?? 0} ${word?.moved.length ?? 0}`;
}

/** Whether addresses of the domain are those of the network's ranges. */
export function isOfRange(domain: Domain, { namespace, network, pool, range }: RangePlace): boolean {
  const parts = orNone(() => parseDomain(domain));
  // A hold in a domain that nobody can read: its address is rather not handed out.
  if (parts === undefined) return true;
  if (parts.scope === "network") return parts.network === network;
  if (parts.namespace !== namespace || parts.scope === "vm-network") return false;
  if (parts.scope === "slice") return parts.name === pool;
  // A pool that is a domain of its own: every reading of its name counts; pool_naming: network calls it by that alone.
  const readings = readPoolName(parts.name, "slices");
  return (
    parts.name === network ||
    readings.some(({ before, range: { prefix } }) => before === network && overlaps(prefix, range))
  );
}

function placesOf(each: ReturnType<typeof readHeld>[number]): ReservedPlace[] {
  if (each.unreadable !== undefined) return [];
  return [{ namespace: each.namespace, domain: each.hold.domain, address: each.hold.address }];
}

function keyOfHeld(object: HeldObject): ObjectKey {
  return `${object.kind} ${keyOf(object)}`;
}

function isSamePlaces(a: readonly ReservedPlace[], b: readonly ReservedPlace[]): boolean {
  const [one, two] = [a, b].map((places) => places.map(({ domain, address }) => `${domain} ${address}`).join());
  return one === two;
}
