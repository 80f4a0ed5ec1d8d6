// The records of one family of addresses on one network, each of which says: this MAC has this address. Records in, the
// differences for a server out.
//
// Promised: the answer depends on the records alone, not on the order in which they came: every agent serves the same.
// An address or a MAC that several records name is served by one of them at most: a Hold goes before a reservation, a
// newer Hold before an older one, a reservation of an older pool before one of a younger. Records of pools that are
// served elsewhere take part in that, and are not served here.
import type { BindingDefinition } from "../dhcp/server/binding.ts";
import type { BindingDefinitionV6 } from "../dhcp/v6/server/binding.ts";
import type { Mac } from "../net/mac.ts";
import type { BindingOwner, Quarantined } from "./compile/hold.ts";

/** `Key`: what the family has for an address; IPv4 its number, IPv6 its text. */
export interface RecordOf<Definition, Key> {
  readonly definition: Definition;
  readonly mac: Mac;
  readonly address: Key;
  /** Of a Hold: its object and owner. Undefined: a reservation of a pool. */
  readonly hold: { readonly name: string; readonly uid: string; readonly owner: BindingOwner } | undefined;
  /** Of the Hold, or of the reservation's pool. */
  readonly createdMs: number;
  readonly quarantine: Quarantined | undefined;
}

export type BindingRecord = RecordOf<BindingDefinition, number>;
export type BindingRecordV6 = RecordOf<BindingDefinitionV6, string>;

export interface BindingDifference<Item> {
  readonly set: readonly Item[];
  /** Those that were served and are no more, or not in this way: before `set`. */
  readonly deleted: readonly Item[];
  /** Whose quarantine began, ended or changed, while they are served. */
  readonly quarantines: readonly Item[];
}

interface Named {
  readonly pool: string;
  readonly hostName?: string;
}

export class BindingRecords<Definition extends Named, Key extends number | string> {
  /** Key: `hold NAME`, or `pool NAMESPACE/NAME INDEX`. */
  readonly #records = new Map<string, RecordOf<Definition, Key>>();
  readonly #byAddress = new Map<Key, RecordOf<Definition, Key>[]>();
  readonly #byMac = new Map<Mac, RecordOf<Definition, Key>[]>();
  /** Addresses whose records changed since the last difference. */
  readonly #dirty = new Set<Key>();
  /** Address -> what the server was told. */
  readonly #told = new Map<Key, RecordOf<Definition, Key>>();
  readonly #isServed: (pool: string) => boolean;

  constructor(isServed: (pool: string) => boolean) {
    this.#isServed = isServed;
  }

  get told(): IterableIterator<RecordOf<Definition, Key>> {
    return this.#told.values();
  }

  get size(): number {
    return this.#told.size;
  }

  /** As the server was told. */
  get(address: Key): RecordOf<Definition, Key> | undefined {
    return this.#told.get(address);
  }

  /** By a Hold, whichever pool it is of. */
  isHeld(address: Key): boolean {
    return firstOf(this.#byAddress.get(address))?.hold !== undefined;
  }

  setHold(name: string, record: RecordOf<Definition, Key> | undefined): void {
    this.#set(`hold ${name}`, record);
  }

  /** These and no others of the pool. */
  setReservations(pool: string, records: readonly RecordOf<Definition, Key>[]): void {
    records.forEach((record, index) => this.#set(`pool ${pool} ${index}`, record));
    for (let index = records.length; this.#records.has(`pool ${pool} ${index}`); index++) {
      this.#set(`pool ${pool} ${index}`, undefined);
    }
  }

  /** What changed since the last call. */
  takeDifference(): BindingDifference<RecordOf<Definition, Key>> {
    const set: RecordOf<Definition, Key>[] = [];
    const deleted: RecordOf<Definition, Key>[] = [];
    const quarantines: RecordOf<Definition, Key>[] = [];
    for (const address of this.#dirty) {
      const wanted = this.#winnerAt(address);
      const told = this.#told.get(address);
      if (wanted === told) continue;
      const isSame = wanted !== undefined && told !== undefined && isSameBinding(wanted, told);
      if (told !== undefined && !isSame) deleted.push(told);
      if (wanted === undefined) this.#told.delete(address);
      else this.#told.set(address, wanted);
      if (wanted !== undefined && !isSame) set.push(wanted);
      if (wanted?.quarantine?.untilMs !== told?.quarantine?.untilMs) quarantines.push((wanted ?? told)!);
    }
    this.#dirty.clear();
    return { set, deleted, quarantines };
  }

  #set(key: string, record: RecordOf<Definition, Key> | undefined): void {
    const before = this.#records.get(key);
    if (before !== undefined) this.#forget(before);
    if (record === undefined) {
      this.#records.delete(key);
      return;
    }
    this.#records.set(key, record);
    addTo(this.#byAddress, record.address, record);
    addTo(this.#byMac, record.mac, record);
    this.#touch(record);
  }

  #forget(record: RecordOf<Definition, Key>): void {
    this.#touch(record);
    removeFrom(this.#byAddress, record.address, record);
    removeFrom(this.#byMac, record.mac, record);
  }

  /** Every address at which the winner may be another now. */
  #touch(record: RecordOf<Definition, Key>): void {
    this.#dirty.add(record.address);
    for (const each of this.#byMac.get(record.mac) ?? []) this.#dirty.add(each.address);
  }

  /** The first of its address, if it is the first of its MAC too; else nobody: which of them is right is not known. */
  #winnerAt(address: Key): RecordOf<Definition, Key> | undefined {
    const first = firstOf(this.#byAddress.get(address));
    if (first === undefined || firstOf(this.#byMac.get(first.mac)) !== first) return undefined;
    return this.#isServed(first.definition.pool) ? first : undefined;
  }
}

type AnyRecord = RecordOf<Named, number | string>;

function firstOf<Item extends AnyRecord>(records: readonly Item[] | undefined): Item | undefined {
  let first = records?.[0];
  if (records === undefined || first === undefined) return undefined;
  for (const record of records) if (goesBefore(record, first)) first = record;
  return first;
}

function goesBefore(a: AnyRecord, b: AnyRecord): boolean {
  if ((a.hold === undefined) !== (b.hold === undefined)) return a.hold !== undefined;
  if (a.createdMs !== b.createdMs) return a.hold === undefined ? a.createdMs < b.createdMs : a.createdMs > b.createdMs;
  if (a.address !== b.address) return a.address < b.address;
  return a.mac < b.mac || (a.mac === b.mac && a.definition.pool < b.definition.pool);
}

function isSameBinding({ mac: a, definition: one }: AnyRecord, { mac: b, definition: other }: AnyRecord): boolean {
  return a === b && one.pool === other.pool && one.hostName === other.hostName;
}

function addTo<Key, Item>(groups: Map<Key, Item[]>, key: Key, record: Item): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [record]);
  else group.push(record);
}

function removeFrom<Key, Item>(groups: Map<Key, Item[]>, key: Key, record: Item): void {
  const left = groups.get(key)?.filter((each) => each !== record) ?? [];
  if (left.length === 0) groups.delete(key);
  else groups.set(key, left);
}
