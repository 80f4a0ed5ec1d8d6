// What one VM network serves, made from its pools and Holds: a set of records in, the differences for the wire out.
//
// Promised: the answer depends on the records alone, not on the order in which they came: every agent serves the same.
// An address or a MAC that several records name is served by one of them at most: a Hold goes before a reservation, a
// newer Hold before an older one. A bad record costs nobody else anything.
import { formatDomain } from "../api/pools/domain.ts";
import type { StoredHold, StoredManagedPool } from "../cluster/resources.ts";
import type { BindingDefinition } from "../dhcp/server/binding.ts";
import type { PoolDefinition } from "../dhcp/server/pool.ts";
import type { Domain } from "../ipam/ledger.ts";
import { type DeepReadonly, keyOf, type ObjectKey, parseKey } from "../kube/meta.ts";
import type { Mac } from "../net/mac.ts";
import type { Findings } from "./compile/finding.ts";
import { type BindingOwner, compileHold, type Quarantined } from "./compile/hold.ts";
import { compileManagedPool, type NamesKnown } from "./compile/pool.ts";

/** A record that says: this MAC has this address. */
export interface BindingRecord {
  readonly definition: BindingDefinition;
  readonly mac: Mac;
  readonly address: number;
  /** Of a Hold: its object and owner. Undefined: a reservation of a pool. */
  readonly hold: { readonly name: string; readonly uid: string; readonly owner: BindingOwner } | undefined;
  readonly createdMs: number;
  readonly quarantine: Quarantined | undefined;
}

export interface ServedDifference {
  readonly setPools: readonly PoolDefinition[];
  readonly deletePools: readonly string[];
  readonly set: readonly BindingRecord[];
  /** Those that were served and are no more, or not in this way: before `set`. */
  readonly deleted: readonly BindingRecord[];
  /** Whose quarantine began, ended or changed, while they are served. */
  readonly quarantines: readonly BindingRecord[];
}

export interface ServedNetworkOptions {
  /** namespace/name of the NetworkAttachmentDefinition. */
  readonly name: string;
  /** Serve these pools alone, namespace/name; undefined: all of the network that `trusted` lets. */
  readonly onlyPools?: ReadonlySet<ObjectKey> | undefined;
  /** Namespaces beside the network's own whose pools may name it: a tenant's could reserve addresses for itself. */
  readonly trusted?: ReadonlySet<string> | undefined;
  readonly findings: Findings;
  readonly names?: NamesKnown;
}

export class ServedNetwork {
  readonly name: string;
  readonly domain: Domain;
  readonly #options: ServedNetworkOptions;
  /** Key: namespace/name. As the server gave them, for the state file. */
  readonly #poolObjects = new Map<ObjectKey, DeepReadonly<StoredManagedPool>>();
  /** Key: namespace/name. What is served of them. */
  readonly #pools = new Map<ObjectKey, PoolDefinition>();
  readonly #dirtyPools = new Set<ObjectKey>();
  /** Key: the Hold's name. */
  readonly #holdObjects = new Map<string, DeepReadonly<StoredHold>>();
  /** Key: `hold NAME`, or `pool NAMESPACE/NAME INDEX`. */
  readonly #records = new Map<string, BindingRecord>();
  readonly #byAddress = new Map<number, BindingRecord[]>();
  readonly #byMac = new Map<Mac, BindingRecord[]>();
  /** Addresses whose records changed since the last difference. */
  readonly #dirty = new Set<number>();
  /** Address -> what the wire was told. */
  readonly #told = new Map<number, BindingRecord>();

  constructor(options: ServedNetworkOptions) {
    this.#options = options;
    this.name = options.name;
    const { namespace = "", name } = parseKey(options.name);
    this.domain = formatDomain({ scope: "vm-network", namespace, name });
  }

  get poolObjects(): IterableIterator<DeepReadonly<StoredManagedPool>> {
    return this.#poolObjects.values();
  }

  get holdObjects(): IterableIterator<DeepReadonly<StoredHold>> {
    return this.#holdObjects.values();
  }

  /** What the wire serves. */
  get pools(): IterableIterator<PoolDefinition> {
    return this.#pools.values();
  }

  get bindings(): IterableIterator<BindingRecord> {
    return this.#told.values();
  }

  get size(): number {
    return this.#told.size;
  }

  poolObject(key: ObjectKey): DeepReadonly<StoredManagedPool> | undefined {
    return this.#poolObjects.get(key);
  }

  pool(key: ObjectKey): PoolDefinition | undefined {
    return this.#pools.get(key);
  }

  binding(address: number): BindingRecord | undefined {
    return this.#told.get(address);
  }

  /** A pool of another network, or one that is not to be served here, counts as gone. */
  setPool(object: DeepReadonly<StoredManagedPool>): void {
    const key = keyOf(object);
    const { onlyPools, findings, names } = this.#options;
    const isOurs = object.spec.networkName === this.name && (onlyPools?.has(key) ?? this.#mayServe(key));
    if (!isOurs) return this.deletePool(key);
    this.#poolObjects.set(key, object);
    const compiled = compileManagedPool(object, names);
    findings.tell(`ippl ${key}`, compiled.findings);
    if (compiled.definition === undefined) this.#pools.delete(key);
    else this.#pools.set(key, compiled.definition);
    this.#dirtyPools.add(key);
    this.#setReservations(key, compiled.reservations);
  }

  #mayServe(pool: ObjectKey): boolean {
    const { namespace = "" } = parseKey(pool);
    return namespace === parseKey(this.name).namespace || this.#options.trusted?.has(namespace) === true;
  }

  deletePool(key: ObjectKey): void {
    if (!this.#poolObjects.delete(key)) return;
    this.#options.findings.tell(`ippl ${key}`, []);
    this.#pools.delete(key);
    this.#dirtyPools.add(key);
    this.#setReservations(key, []);
  }

  setHold(object: DeepReadonly<StoredHold>): void {
    const { onlyPools, findings } = this.#options;
    const { name = "", uid = "" } = object.metadata;
    const compiled = compileHold(object, this.domain);
    findings.tell(`Hold ${name}`, typeof compiled === "string" ? [compiled] : []);
    const isServed = compiled !== undefined && typeof compiled !== "string";
    if (!isServed || onlyPools?.has(compiled.definition.pool) === false) {
      this.#holdObjects.delete(name);
      return this.#setRecord(`hold ${name}`, undefined);
    }
    this.#holdObjects.set(name, object);
    const { definition, owner, createdMs, quarantine } = compiled;
    const { mac, address } = definition;
    this.#setRecord(`hold ${name}`, {
      definition,
      mac: mac!,
      address: address.value,
      hold: { name, uid, owner },
      createdMs,
      quarantine,
    });
  }

  deleteHold(name: string): void {
    this.#options.findings.tell(`Hold ${name}`, []);
    this.#holdObjects.delete(name);
    this.#setRecord(`hold ${name}`, undefined);
  }

  /** What a state file had and the server has not is gone. */
  retainPools(isThere: (key: ObjectKey) => boolean): void {
    for (const key of Array.from(this.#poolObjects.keys())) if (!isThere(key)) this.deletePool(key);
  }

  retainHolds(isThere: (name: string) => boolean): void {
    for (const name of Array.from(this.#holdObjects.keys())) if (!isThere(name)) this.deleteHold(name);
  }

  /** What changed since the last call. */
  takeDifference(): ServedDifference {
    const setPools: PoolDefinition[] = [];
    const deletePools: string[] = [];
    for (const key of this.#dirtyPools) {
      const pool = this.#pools.get(key);
      if (pool === undefined) deletePools.push(key);
      else setPools.push(pool);
    }
    this.#dirtyPools.clear();
    const set: BindingRecord[] = [];
    const deleted: BindingRecord[] = [];
    const quarantines: BindingRecord[] = [];
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
    return { setPools, deletePools, set, deleted, quarantines };
  }

  #setReservations(pool: ObjectKey, definitions: readonly BindingDefinition[]): void {
    definitions.forEach((definition, index) => {
      const { mac, address } = definition;
      const record = {
        definition,
        mac: mac!,
        address: address.value,
        hold: undefined,
        createdMs: 0,
        quarantine: undefined,
      };
      this.#setRecord(`pool ${pool} ${index}`, record);
    });
    for (let index = definitions.length; this.#records.has(`pool ${pool} ${index}`); index++) {
      this.#setRecord(`pool ${pool} ${index}`, undefined);
    }
  }

  #setRecord(key: string, record: BindingRecord | undefined): void {
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

  #forget(record: BindingRecord): void {
    this.#touch(record);
    removeFrom(this.#byAddress, record.address, record);
    removeFrom(this.#byMac, record.mac, record);
  }

  /** Every address at which the winner may be another now. */
  #touch(record: BindingRecord): void {
    this.#dirty.add(record.address);
    for (const each of this.#byMac.get(record.mac) ?? []) this.#dirty.add(each.address);
  }

  /** The first of its address, if it is the first of its MAC too; else nobody: which of them is right is not known. */
  #winnerAt(address: number): BindingRecord | undefined {
    const first = firstOf(this.#byAddress.get(address));
    return first !== undefined && firstOf(this.#byMac.get(first.mac)) === first ? first : undefined;
  }
}

function firstOf(records: readonly BindingRecord[] | undefined): BindingRecord | undefined {
  let first = records?.[0];
  if (records === undefined || first === undefined) return undefined;
  for (const record of records) if (goesBefore(record, first)) first = record;
  return first;
}

function goesBefore(a: BindingRecord, b: BindingRecord): boolean {
  if ((a.hold === undefined) !== (b.hold === undefined)) return a.hold !== undefined;
  if (a.createdMs !== b.createdMs) return a.createdMs > b.createdMs;
  if (a.address !== b.address) return a.address < b.address;
  return a.mac < b.mac || (a.mac === b.mac && a.definition.pool < b.definition.pool);
}

function isSameBinding({ definition: a }: BindingRecord, { definition: b }: BindingRecord): boolean {
  return a.mac === b.mac && a.pool === b.pool && a.hostName === b.hostName;
}

function addTo<Key>(groups: Map<Key, BindingRecord[]>, key: Key, record: BindingRecord): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [record]);
  else group.push(record);
}

function removeFrom<Key>(groups: Map<Key, BindingRecord[]>, key: Key, record: BindingRecord): void {
  const left = groups.get(key)?.filter((each) => each !== record) ?? [];
  if (left.length === 0) groups.delete(key);
  else groups.set(key, left);
}
