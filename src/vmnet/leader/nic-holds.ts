// The holds of NICs, followed: by address, by MAC, by network config, and as the pictures from which addresses are
// chosen. What this process has just written counts before the watch shows it. Promised: between an answer of the
// ledger and its event nothing is forgotten. Not promised: freshness; the ledger arbitrates.
import type { Cooling } from "../../api/holds/hold-marks.ts";
import type { Domain, Hold } from "../../ipam/ledger.ts";
import { sameOwner } from "../../ipam/owner.ts";
import { Pool } from "../../ipam/pool.ts";
import { MultiMap } from "../../kube/cache/multi-map.ts";
import type { Clock } from "../../kube/clock.ts";
import { parseKey } from "../../kube/meta.ts";
import type { Address } from "../../net/address.ts";
import { contains, type Prefix } from "../../net/prefix.ts";
import type { NicHold } from "../plan/nic-hold.ts";
import type { Family } from "../plan/nic-slot.ts";
import type { PoolPlan } from "../rules/pool-plan.ts";

/** `before` or `after` is undefined where it came or went. */
export type HoldChange = (domain: Domain, before: NicHold | undefined, after: NicHold | undefined) => void;

/** Of one family of a pool. */
interface Picture {
  readonly plan: PoolPlan;
  /** The spec that it was made of. */
  readonly of: string;
  readonly prefix: Prefix;
  readonly pool: Pool;
}

/** Of IPv4 the number: no text is kept for it. */
type AddressKey = number | string;

/** After that an older word of the server counts again: it may have been restored from a copy. */
const ownMs = 30_000;

export class NicHolds {
  readonly #clock: Clock;
  /** Domain -> address -> hold, held or cooling. */
  readonly #byAddress = new Map<Domain, Map<AddressKey, NicHold>>();
  /** Domain -> MAC -> what is held, not cooling. In two steps, so that keys are strings that the holds have already. */
  readonly #byMac = new Map<Domain, MultiMap<NicHold>>();
  /** Namespace -> name of the network config -> held or cooling. */
  readonly #byConfig = new Map<string, MultiMap<NicHold>>();
  /** namespace/name of the pool -> its pictures, one for each family that it has. */
  readonly #pictures = new Map<string, readonly Picture[]>();
  /** `DOMAIN ADDRESS` -> the version that this process wrote, until an event shows it or a later one. */
  readonly #own = new Map<string, { readonly version: number; readonly untilMs: number }>();
  onChange: HoldChange = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get domains(): IterableIterator<Domain> {
    return this.#byAddress.keys();
  }

  all(): IteratorObject<NicHold> {
    return this.#byAddress.values().flatMap((holds) => holds.values());
  }

  in(domain: Domain): Iterable<NicHold> {
    return this.#byAddress.get(domain)?.values() ?? [];
  }

  at(domain: Domain, address: Address): NicHold | undefined {
    return this.#byAddress.get(domain)?.get(addressKey(address));
  }

  /** Held, not cooling. */
  withMac(domain: Domain, mac: string): readonly NicHold[] {
    return this.#byMac.get(domain)?.get(mac) ?? [];
  }

  /** Of all network configs that had this name; cooling ones too. */
  ofName(config: string): readonly NicHold[] {
    const { namespace = "", name } = parseKey(config);
    return this.#byConfig.get(namespace)?.get(name) ?? [];
  }

  /** What an event says. */
  told(
    hold: NicHold | undefined,
    place: { readonly domain: Domain; readonly address: Address },
    version: number,
  ): void {
    const key = `${place.domain} ${place.address}`;
    const own = this.#own.get(key);
    if (own !== undefined && version < own.version && this.#clock.monotonicMs() < own.untilMs) return;
    this.#own.delete(key);
    this.#set(place.domain, place.address, hold);
  }

  /** What the ledger answered to this process. */
  learn(hold: Hold): void {
    if (hold.owner.kind !== "nic") return this.#foreign(hold);
    this.#mine(hold, versionNumber(hold.version));
    this.#set(hold.domain, hold.address, hold as NicHold);
  }

  /** This process released it. */
  released(hold: NicHold, cooling: Cooling): void {
    this.#mine(hold, versionNumber(hold.version) + 1);
    this.#set(hold.domain, hold.address, { ...hold, cooling });
  }

  /** The ledger has no hold there. */
  gone(hold: NicHold): void {
    this.#set(hold.domain, hold.address, undefined);
  }

  picture(pool: string, family: Family): Pool | undefined {
    return this.#pictures.get(pool)?.find(({ prefix }) => prefix.family === family)?.pool;
  }

  /** Makes the pictures of a pool, or makes them anew where its definition changed. False: they are as they were. */
  draw(plan: PoolPlan, of: string): boolean {
    const [known] = this.#pictures.get(plan.key) ?? [];
    if (known !== undefined && known.of === of && known.plan.domain === plan.domain) return false;
    const drawn = [plan.ipv4, ...(plan.ipv6 ? [plan.ipv6] : [])].map(({ prefix, definition }) => {
      const pool = new Pool(definition, () => this.#clock.wallMs());
      for (const hold of this.in(plan.domain)) if (contains(prefix, hold.address)) show(pool, hold);
      return { plan, of, prefix, pool };
    });
    this.#pictures.set(plan.key, drawn);
    return true;
  }

  /** Those in which an address of the domain can stand. */
  *#picturesAt(domain: Domain, address: Address): Iterable<Picture> {
    for (const all of this.#pictures.values())
      for (const each of all) if (each.plan.domain === domain && contains(each.prefix, address)) yield each;
  }

  erase(pool: string): void {
    this.#pictures.delete(pool);
  }

  #mine({ domain, address }: Hold, version: number): void {
    const nowMs = this.#clock.monotonicMs();
    this.#own.set(`${domain} ${address}`, { version, untilMs: nowMs + ownMs });
    // The oldest come first; a watch that stands still leaves at most so many as were written in half a minute.
    for (const [key, { untilMs }] of this.#own) {
      if (untilMs > nowMs) break;
      this.#own.delete(key);
    }
  }

  #set(domain: Domain, address: Address, after: NicHold | undefined): void {
    const key = addressKey(address);
    const holds = this.#byAddress.get(domain) ?? new Map<AddressKey, NicHold>();
    const before = holds.get(key);
    if (before !== undefined) this.#unindex(before);
    if (after === undefined) holds.delete(key);
    else holds.set(key, after);
    if (holds.size === 0) this.#byAddress.delete(domain);
    else this.#byAddress.set(domain, holds);
    if (after !== undefined) this.#index(after);
    for (const { prefix, pool } of this.#picturesAt(domain, address)) {
      if (after === undefined) hide(pool, before);
      else show(pool, after);
      // A picture has one address of an owner: the other of two comes back when the first has gone.
      const hasGone = before !== undefined && before.cooling === undefined && after?.cooling !== undefined;
      if (hasGone || after === undefined)
        for (const other of this.withMac(domain, before?.owner.nic ?? ""))
          if (contains(prefix, other.address)) show(pool, other);
    }
    if (before?.version !== after?.version || before?.cooling !== after?.cooling) this.onChange(domain, before, after);
  }

  /** Somebody else's in a VM network: taken, that is all. */
  #foreign({ domain, address, owner }: Hold): void {
    for (const { pool } of this.#picturesAt(domain, address)) pool.learn(address, owner);
  }

  #index(hold: NicHold): void {
    const { domain, owner, cooling } = hold;
    within(this.#byConfig, owner.namespace).add(owner.name, hold);
    if (cooling === undefined) within(this.#byMac, domain).add(owner.nic, hold);
  }

  #unindex(hold: NicHold): void {
    const { domain, owner, cooling } = hold;
    within(this.#byConfig, owner.namespace).delete(owner.name, hold);
    if (cooling === undefined) within(this.#byMac, domain).delete(owner.nic, hold);
  }
}

function addressKey(address: Address): AddressKey {
  return address.family === 4 ? address.value : address.toString();
}

function within(maps: Map<string, MultiMap<NicHold>>, key: string): MultiMap<NicHold> {
  const known = maps.get(key) ?? new MultiMap<NicHold>();
  maps.set(key, known);
  return known;
}

function show(pool: Pool, { address, owner, cooling }: NicHold): void {
  if (cooling === undefined) return pool.learn(address, owner);
  pool.forget(address);
  pool.cool({ address, ...cooling });
}

/** Only what the picture has of this very owner: another may be taking it. */
function hide(pool: Pool, before: NicHold | undefined): void {
  const holder = before && pool.ownerAt(before.address);
  if (before !== undefined && holder !== undefined && sameOwner(holder, before.owner)) pool.forget(before.address);
}

/** Versions end with the resourceVersion: a number on every server that is known. */
export function versionNumber(version: string): number {
  return Number(/\d+$/.exec(version)?.[0] ?? "0");
}
