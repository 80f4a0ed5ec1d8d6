// The holds of NICs as the leader's work sees them: by address, by MAC, by network config, and as the pictures from
// which addresses are chosen. What this process has just written counts before the watch shows it. Promised: between an
// answer of the ledger and its event nothing is forgotten. Not promised: freshness, since the ledger arbitrates; that a
// hold is the same object when it is asked for again.
import type { Cooling } from "../../../api/holds/hold-marks.ts";
import type { Domain, Hold } from "../../../ipam/ledger.ts";
import { sameOwner } from "../../../ipam/owner.ts";
import { Pool } from "../../../ipam/pool.ts";
import { hashText, SlotIndex } from "../../../ipam/slot-index.ts";
import type { Clock } from "../../../kube/clock.ts";
import { parseKey } from "../../../kube/meta.ts";
import { Turns } from "../../../kube/turns.ts";
import { type Address, V4Address } from "../../../net/address.ts";
import { contains, type Prefix } from "../../../net/prefix.ts";
import { byAddress, type NicHold, type NicOwner } from "../../plan/nic-hold.ts";
import type { Family } from "../../plan/nic-slot.ts";
import type { PoolPlan } from "../../rules/pool-plan.ts";
import { HoldRows } from "./hold-rows.ts";
import { RowGroups } from "./row-groups.ts";

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

/** After that an older word of the server counts again: it may have been restored from a copy. */
const ownMs = 30_000;

export class NicHolds {
  readonly #clock: Clock;
  /** Held or cooling. */
  readonly #rows = new HoldRows();
  /** Of what is held, not cooling: by domain and MAC. */
  readonly #byMac = new SlotIndex();
  /** Of network configs, by namespace and name: held or cooling. */
  readonly #byConfig = new RowGroups();
  /** namespace/name of the pool -> its pictures, one for each family that it has. */
  readonly #pictures = new Map<string, readonly Picture[]>();
  /** The same, of those that are being drawn: nobody chooses from them yet. */
  readonly #drawing = new Map<string, readonly Picture[]>();
  /** `DOMAIN ADDRESS` -> the version that this process wrote, until an event shows it or a later one. */
  readonly #own = new Map<string, { readonly version: number; readonly untilMs: number }>();
  onChange: HoldChange = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Held, not cooling. */
  get count(): number {
    return this.#rows.size - this.#rows.coolingCount;
  }

  *cooling(): Generator<NicHold> {
    for (const row of this.#rows.cooling()) yield this.#rows.hold(row);
  }

  /** Of all domains, where none is given. */
  *in(domain?: Domain): Generator<NicHold> {
    for (const row of this.#rows.rows())
      if (domain === undefined || this.#rows.domainOf(row) === domain) yield this.#rows.hold(row);
  }

  at(domain: Domain, address: Address): NicHold | undefined {
    const row = this.#rows.find(domain, address);
    return row < 0 ? undefined : this.#rows.hold(row);
  }

  /** Held, not cooling. */
  withMac(domain: Domain, mac: string): readonly NicHold[] {
    const found: NicHold[] = [];
    this.#byMac.find(macHash(domain, mac), (row) => {
      const hold = this.#rows.domainOf(row) === domain ? this.#rows.hold(row) : undefined;
      if (hold?.owner.nic === mac) found.push(hold);
      return false;
    });
    return found;
  }

  /** Of all network configs that had this name; cooling ones too. */
  ofName(config: string): readonly NicHold[] {
    const { namespace = "", name } = parseKey(config);
    return this.#byConfig.get(namespace, name).map((row) => this.#rows.hold(row));
  }

  /** Every network config that has a hold, held or cooling; one that has none any more may be among them. */
  configs(): Iterable<Pick<NicOwner, "uid" | "namespace" | "name">> {
    return this.#rows.owners.configs();
  }

  /** Of what is held in a pool: how many, and those with the lowest addresses, in their order. */
  use(domain: Domain, pool: string, family: Family, max: number): { count: number; lowest: readonly NicHold[] } {
    const inPool = (row: number) => this.#rows.poolOf(row) === pool && this.#rows.domainOf(row) === domain;
    const isHeld = (row: number) => this.#rows.familyOf(row) === family && !this.#rows.isCooling(row);
    const rows = [...this.#rows.rows()].filter((row) => inPool(row) && isHeld(row));
    if (family === 6) {
      const holds = rows.map((row) => this.#rows.hold(row)).toSorted(byAddress);
      return { count: rows.length, lowest: holds.slice(0, max) };
    }
    // As numbers: 100,000 objects to be sorted stood in the way of everything else for a second.
    const values = Uint32Array.from(rows, (row) => (this.#rows.addressOf(row) as V4Address).value).sort();
    const lowest = Array.from(values.subarray(0, max), (value) => this.at(domain, new V4Address(value))!);
    return { count: rows.length, lowest };
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

  /**
   * Makes the pictures of a pool, or makes them anew where its definition changed, in many turns of the event loop;
   * until then there are none: nothing is given by a definition that is no more. False: they are as they were, or
   * somebody has drawn or erased them meanwhile.
   */
  async draw(plan: PoolPlan, of: string): Promise<boolean> {
    const [known] = this.#pictures.get(plan.key) ?? [];
    if (known !== undefined && known.of === of && known.plan.domain === plan.domain) return false;
    const drawn = [plan.ipv4, ...(plan.ipv6 ? [plan.ipv6] : [])].map(({ prefix, definition }) => {
      const pool = new Pool(definition, () => this.#clock.wallMs(), this.#rows.owners);
      return { plan, of, prefix, pool };
    });
    this.erase(plan.key);
    // What changes while they are drawn is shown in them, too.
    this.#drawing.set(plan.key, drawn);
    const turns = new Turns();
    for (const hold of this.in(plan.domain)) {
      for (const { prefix, pool } of drawn) if (contains(prefix, hold.address)) show(pool, hold);
      if (turns.isDue()) await turns.next();
    }
    if (this.#drawing.get(plan.key) !== drawn) return false;
    this.erase(plan.key, drawn);
    this.#pictures.set(plan.key, drawn);
    return true;
  }

  /** Those in which an address of the domain can stand. */
  *#picturesAt(domain: Domain, address: Address): Iterable<Picture> {
    for (const pictures of [this.#pictures, this.#drawing])
      for (const all of pictures.values())
        for (const each of all) if (each.plan.domain === domain && contains(each.prefix, address)) yield each;
  }

  erase(pool: string, except?: readonly Picture[]): void {
    for (const pictures of [this.#pictures, this.#drawing]) {
      const gone = pictures.get(pool) ?? [];
      pictures.delete(pool);
      // Its owners are kept with those of the holds: they are given back.
      if (gone !== except)
        for (const picture of gone) for (const { address } of picture.pool.allocations()) picture.pool.forget(address);
    }
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
    const row = this.#rows.find(domain, address);
    const before = row < 0 ? undefined : this.#rows.hold(row);
    if (before !== undefined) this.#unindex(row, before);
    if (after !== undefined) this.#index(this.#rows.put(after), after);
    else if (row >= 0) this.#rows.delete(row);
    for (const { prefix, pool } of this.#picturesAt(domain, address)) {
      if (after === undefined) hide(pool, before);
      else show(pool, after);
      // A picture has one address of an owner: the other of two comes back when the first has gone.
      const hasGone = before !== undefined && before.cooling === undefined && after?.cooling !== undefined;
      if (hasGone || after === undefined)
        for (const other of this.withMac(domain, before?.owner.nic ?? ""))
          if (contains(prefix, other.address)) show(pool, other);
    }
    const isSame = before?.version === after?.version && before?.cooling?.untilMs === after?.cooling?.untilMs;
    if (!isSame) this.onChange(domain, before, after);
  }

  /** Somebody else's in a VM network: taken, that is all. */
  #foreign({ domain, address, owner }: Hold): void {
    for (const { pool } of this.#picturesAt(domain, address)) pool.learn(address, owner);
  }

  #index(row: number, { domain, owner, cooling }: NicHold): void {
    this.#byConfig.add(owner.namespace, owner.name, row);
    if (cooling === undefined) this.#byMac.add(macHash(domain, owner.nic), row);
  }

  #unindex(row: number, { domain, owner, cooling }: NicHold): void {
    this.#byConfig.delete(owner.namespace, owner.name, row);
    if (cooling === undefined) this.#byMac.delete(macHash(domain, owner.nic), row);
  }
}

/** Networks have each their own: the same MAC in all of them is rare. */
const macHash = (domain: Domain, mac: string): number => hashText(mac, hashText(domain));

function show(pool: Pool, { address, owner, cooling }: NicHold): void {
  if (cooling === undefined) return pool.learn(address, owner, true);
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
