// What is left to do before a pool may hand out: a pure function of its entries and of the existing objects. Afterwards
// every address that anybody may have stands under today's name. An address with two owners is held by one of them,
// with a warning; an entry that can mean any of very many addresses blocks the pool.
import { coolingOf, ownerLabelName } from "../../api/holds/hold-marks.ts";
import { describeObject } from "../../api/metadata.ts";
import { readAllocations } from "../../api/pools/allocations.ts";
import type { IPPool } from "../../api/pools/ip-pool.ts";
import { parseRange } from "../../api/pools/range.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { describeOwner, type Owner, sameContainer } from "../../ipam/owner.ts";
import { type Address, distance } from "../../net/address.ts";
import { contains } from "../../net/prefix.ts";
import { type HeldObject, readHeld } from "../reservation/list-holds.ts";
import { holdsIn, isAlias, type NewHold, readRecord, type Records } from "../reservation/records.ts";

export interface AdoptionPlan {
  readonly create: readonly NewHold[];
  /** Objects to rewrite: a reservation without our marks, or one that cools although an entry says it is held. */
  readonly claim: readonly { readonly object: HeldObject; readonly hold: NewHold }[];
  /** Objects under old names whose content stands under today's. */
  readonly retire: readonly HeldObject[];
  readonly blocking: readonly string[];
  readonly warnings: readonly string[];
}

export function planAdoption(records: Records, pools: readonly IPPool[], objects: readonly HeldObject[]): AdoptionPlan {
  const planner = new Planner(records, objects);
  for (const pool of pools) planner.readPool(pool);
  planner.readObjects(pools);
  return planner;
}

/** whereabouts' offsets are 64 bits wide. */
const wrap = 1n << 64n;

class Planner implements AdoptionPlan {
  readonly create: NewHold[] = [];
  readonly claim: { object: HeldObject; hold: NewHold }[] = [];
  readonly retire: HeldObject[] = [];
  readonly blocking: string[] = [];
  readonly warnings: string[] = [];
  readonly #records: Records;
  /** address -> the object under today's name */
  readonly #today = new Map<string, HeldObject>();
  /** Key: the name. Also what cannot be read: it stands there, and holds the address. */
  readonly #byName = new Map<string, HeldObject>();
  /** Objects under old names, with the holds that each may mean; an alias means none. */
  readonly #older: { readonly object: HeldObject; readonly meanings: readonly Hold[] }[] = [];
  /** address -> whose it will be */
  readonly #planned = new Map<string, Owner>();

  constructor(records: Records, objects: readonly HeldObject[]) {
    this.#records = records;
    for (const object of objects) {
      this.#byName.set(object.metadata.name ?? "", object);
      const meanings = holdsIn(records, object);
      const today = meanings.find(({ address }) => records.nameOf(address) === object.metadata.name);
      if (today !== undefined) this.#today.set(today.address.toString(), object);
      else if (meanings.length > 0 || isAlias(object)) this.#older.push({ object, meanings });
    }
  }

  readPool(pool: IPPool): void {
    const { entries, unreadable } = readAllocations(pool);
    // Such a key is no address of this pool, so nothing that is handed out of it can meet it.
    this.warnings.push(...unreadable.map(({ message }) => message));
    const note = noteOf(pool);
    for (const { address, others, isWrapped, owner } of entries) {
      const candidates = isWrapped ? this.#sameOffset(pool, address, owner) : [address, ...others];
      if (candidates.length === 0) {
        this.blocking.push(tooWide(pool, address, owner));
        continue;
      }
      // The pod's own reservation says which of them it is; else it may be any, and all are kept.
      const sure = candidates.filter((each) => this.#isRecordedFor(each, owner));
      const source = candidates.length === 1 ? describeObject("IPPool", pool.metadata) : "";
      for (const each of sure.length > 0 ? sure : candidates) this.#hold({ address: each, owner, note }, source);
    }
  }

  /** An object without an entry is held too. */
  readObjects(pools: readonly IPPool[]): void {
    const ranges = pools.map((pool) => ({ prefix: parseRange(pool.spec.range).prefix, note: noteOf(pool) }));
    const rangeOf = ({ address }: Hold) => ranges.find(({ prefix }) => contains(prefix, address));
    for (const { object, meanings } of this.#older) {
      const here = meanings.flatMap((hold) => {
        const { note } = rangeOf(hold) ?? {};
        return note === undefined ? [] : [{ address: hold.address, owner: hold.owner, note }];
      });
      this.#readOlder(object, here);
    }
    for (const [text, object] of this.#today) {
      const [hold] = holdsIn(this.#records, object);
      const range = hold && rangeOf(hold);
      const isOurs = isMarked(object) || coolingOf(object.metadata) !== undefined;
      if (hold === undefined || range === undefined || isOurs || this.#planned.has(text)) continue;
      this.claim.push({ object, hold: { address: hold.address, owner: hold.owner, note: range.note } });
    }
  }

  /** `here`: what it may mean in these pools. */
  #readOlder(object: HeldObject, here: readonly NewHold[]): void {
    for (const hold of here) this.#hold(hold, describeObject(object.kind ?? "object", object.metadata));
    const stands = here.every(({ address, owner }) => this.#isRecordedFor(address, owner));
    // One meaning, in any network, and already under today's name: the old name says nothing more. An alias never did.
    const isOne = readHeld(object).length === 1 && here.length === 1;
    if (isAlias(object) || (isOne && stands)) this.retire.push(object);
  }

  /** Has the address held. `source`, where it is certain, names who says so: two owners are worth a warning. */
  #hold(hold: NewHold, source: string): void {
    const text = hold.address.toString();
    const object = this.#today.get(text) ?? this.#byName.get(this.#records.nameOf(hold.address));
    const planned = this.#planned.get(text);
    if (planned !== undefined) return this.#compare(hold, planned, source);
    if (object === undefined) {
      this.#planned.set(text, hold.owner);
      return void this.create.push(hold);
    }
    const recorded = readRecord(this.#records, hold.address, object).owner;
    const isResting = coolingOf(object.metadata) !== undefined;
    if (!isResting && isMarked(object)) return this.#compare(hold, recorded, source);
    if (isResting && samePod(recorded, hold.owner) && sameContainer(recorded, hold.owner)) return;
    // It cools, and the entry is another's or a later container's (whereabouts takes a reservation in its pod's name
    // for its own); or it has no marks yet, and the entry may know the container.
    const isNobodys = isResting || recorded.name === "";
    const owner = isNobodys ? hold.owner : samePod(recorded, hold.owner) ? completed(recorded, hold.owner) : recorded;
    if (!isNobodys) this.#compare(hold, recorded, source);
    this.#planned.set(text, owner);
    this.claim.push({ object, hold: { ...hold, owner } });
  }

  #compare({ address, owner }: NewHold, recorded: Owner, source: string): void {
    if (source === "" || samePod(recorded, owner)) return;
    const what = `${source} says that ${address} is ${describeOwner(owner)}'s, and its hold says ${describeOwner(recorded)}'s`;
    this.warnings.push(`${what}: one of them uses another's address. Delete the pod that came later.`);
  }

  #isRecordedFor(address: Address, owner: Owner): boolean {
    const object = this.#today.get(address.toString());
    return object !== undefined && samePod(readRecord(this.#records, address, object).owner, owner);
  }

  /** The addresses that end as the key says and are recorded for the same pod. */
  #sameOffset(pool: IPPool, low: Address, owner: Owner): Address[] {
    const { address: base, prefix } = parseRange(pool.spec.range);
    const all = [...this.#today.values()].flatMap((object) => holdsIn(this.#records, object));
    const older = this.#older.flatMap(({ meanings }) => meanings);
    return [...all, ...older].flatMap((hold) => {
      const fits = contains(prefix, hold.address) && (distance(base, hold.address) - distance(base, low)) % wrap === 0n;
      return fits && samePod(hold.owner, owner) ? [hold.address] : [];
    });
  }
}

function noteOf({ metadata }: IPPool) {
  return { pool: `${metadata.namespace}/${metadata.name}` };
}

function isMarked({ metadata }: HeldObject): boolean {
  return metadata.labels?.[ownerLabelName] !== undefined;
}

/** By name: whereabouts' records have no UIDs, and often no interface. */
function samePod(a: Owner, b: Owner): boolean {
  const [one, two] = [interfaceOf(a), interfaceOf(b)];
  return a.namespace === b.namespace && a.name === b.name && (one === two || one === "" || two === "");
}

function interfaceOf(owner: Owner): string {
  return owner.kind === "pod" ? owner.interface : owner.kind === "nic" ? owner.nic : "";
}

/** What the record lacks, from the entry. */
function completed(recorded: Owner, entry: Owner): Owner {
  if (recorded.kind !== "pod" || entry.kind !== "pod") return recorded;
  const containerId = recorded.containerId ?? entry.containerId;
  return {
    ...recorded,
    uid: recorded.uid || entry.uid,
    interface: recorded.interface || entry.interface,
    ...(containerId !== undefined && { containerId }),
  };
}

function tooWide({ metadata, spec }: IPPool, low: Address, owner: Owner): string {
  return (
    `${describeObject("IPPool", metadata)}: the entry of ${describeOwner(owner)} can mean ${low} or any address a multiple of 2^64 ` +
    `further on in ${spec.range}, and no reservation says which. Nothing is handed out of the pool until that pod is deleted ` +
    "and its entry removed from spec.allocations."
  );
}
