// What one VM network serves, made from its pools and Holds: a set of records in, the differences for the servers out.
//
// Promised: the answer depends on the records alone, not on the order in which they came: every agent serves the same.
// A bad record costs nobody else anything.
import { formatDomain } from "../api/pools/domain.ts";
import type { StoredHold, StoredManagedPool } from "../cluster/resources.ts";
import type { BindingDefinition } from "../dhcp/server/binding.ts";
import type { PoolDefinition } from "../dhcp/server/pool.ts";
import type { BindingDefinitionV6 } from "../dhcp/v6/server/binding.ts";
import type { PoolDefinitionV6 } from "../dhcp/v6/server/pool-definition.ts";
import type { Domain } from "../ipam/ledger.ts";
import { type DeepReadonly, keyOf, type ObjectKey, parseKey } from "../kube/meta.ts";
import type { Address } from "../net/address.ts";
import type { Mac } from "../net/mac.ts";
import {
  type BindingDifference,
  type BindingRecord,
  BindingRecords,
  type BindingRecordV6,
  type RecordOf,
} from "./binding-records.ts";
import type { Findings } from "./compile/finding.ts";
import { compileHold } from "./compile/hold.ts";
import { type CompiledPool, compileManagedPool } from "./compile/pool.ts";

interface FamilyDifference<Pool, Item> extends BindingDifference<Item> {
  readonly setPools: readonly Pool[];
  readonly deletePools: readonly ObjectKey[];
}

export interface ServedDifference {
  readonly v4: FamilyDifference<PoolDefinition, BindingRecord>;
  readonly v6: FamilyDifference<PoolDefinitionV6, BindingRecordV6>;
  readonly isEmpty: boolean;
}

export interface ServedNetworkOptions {
  /** namespace/name of the NetworkAttachmentDefinition. */
  readonly name: string;
  /** Serve these pools alone, namespace/name; undefined: all of the network that `trusted` lets. */
  readonly onlyPools?: ReadonlySet<ObjectKey> | undefined;
  /** Namespaces beside the network's own whose pools may name it: a tenant's could reserve addresses for itself. */
  readonly trusted?: ReadonlySet<string> | undefined;
  readonly findings: Findings;
}

export class ServedNetwork {
  readonly name: string;
  readonly domain: Domain;
  readonly v4 = new BindingRecords<BindingDefinition, number>();
  readonly v6 = new BindingRecords<BindingDefinitionV6, string>();
  readonly #options: ServedNetworkOptions;
  /** Key: namespace/name. As the server gave them, for the state file. */
  readonly #poolObjects = new Map<ObjectKey, DeepReadonly<StoredManagedPool>>();
  /** Key: namespace/name. What is served of them. */
  readonly #pools = new Map<ObjectKey, PoolDefinition>();
  readonly #poolsV6 = new Map<ObjectKey, PoolDefinitionV6>();
  readonly #dirtyPools = new Set<ObjectKey>();
  /** Names of Holds that are records here. */
  readonly #holds = new Set<string>();

  constructor(options: ServedNetworkOptions) {
    this.#options = options;
    this.name = options.name;
    const { namespace = "", name } = parseKey(options.name);
    this.domain = formatDomain({ scope: "vm-network", namespace, name });
  }

  get poolObjects(): IterableIterator<DeepReadonly<StoredManagedPool>> {
    return this.#poolObjects.values();
  }

  /** The Hold of this name is one of its records. */
  hasHold(name: string): boolean {
    return this.#holds.has(name);
  }

  get pools(): IterableIterator<PoolDefinition> {
    return this.#pools.values();
  }

  get poolsV6(): IterableIterator<PoolDefinitionV6> {
    return this.#poolsV6.values();
  }

  get size(): number {
    return this.v4.size + this.v6.size;
  }

  poolObject(key: ObjectKey): DeepReadonly<StoredManagedPool> | undefined {
    return this.#poolObjects.get(key);
  }

  pool(key: ObjectKey): PoolDefinition | undefined {
    return this.#pools.get(key);
  }

  poolV6(key: ObjectKey): PoolDefinitionV6 | undefined {
    return this.#poolsV6.get(key);
  }

  /** What a server was told of the address. */
  binding(address: Address): BindingRecord | BindingRecordV6 | undefined {
    return address.family === 4 ? this.v4.get(address.value) : this.v6.get(address.toString());
  }

  /** A pool of another network, or one that is not to be served here, counts as gone. */
  setPool(object: DeepReadonly<StoredManagedPool>, compiled: CompiledPool = compileManagedPool(object)): void {
    const key = keyOf(object);
    const { onlyPools, findings } = this.#options;
    const isOurs = compiled.network === this.name && (onlyPools?.has(key) ?? this.#mayServe(key));
    if (!isOurs) return this.deletePool(key);
    this.#poolObjects.set(key, object);
    findings.tell(`ippl ${key}`, compiled.findings);
    const { definition, definitionV6, reservations, reservationsV6 } = compiled;
    if (definition === undefined) this.#pools.delete(key);
    else this.#pools.set(key, definition);
    if (definitionV6 === undefined) this.#poolsV6.delete(key);
    else this.#poolsV6.set(key, definitionV6);
    this.#dirtyPools.add(key);
    this.v4.setReservations(
      key,
      reservations.map((each) => reserved(each, each.mac!, each.address.value)),
    );
    this.v6.setReservations(
      key,
      reservationsV6.map((each) => reserved(each, each.mac, each.address.toString())),
    );
  }

  #mayServe(pool: ObjectKey): boolean {
    const { namespace = "" } = parseKey(pool);
    return namespace === parseKey(this.name).namespace || this.#options.trusted?.has(namespace) === true;
  }

  deletePool(key: ObjectKey): void {
    if (!this.#poolObjects.delete(key)) return;
    this.#options.findings.tell(`ippl ${key}`, []);
    this.#pools.delete(key);
    this.#poolsV6.delete(key);
    this.#dirtyPools.add(key);
    this.v4.setReservations(key, []);
    this.v6.setReservations(key, []);
  }

  setHold(object: DeepReadonly<StoredHold>): void {
    const { onlyPools, findings } = this.#options;
    const { name = "", uid = "" } = object.metadata;
    const compiled = compileHold(object, this.domain);
    findings.tell(`Hold ${name}`, typeof compiled === "string" ? [compiled] : []);
    const isServed = compiled !== undefined && typeof compiled !== "string";
    if (!isServed || onlyPools?.has(compiled.definition.pool) === false) return this.#forgetHold(name);
    this.#holds.add(name);
    const { mac, owner, createdMs, quarantine } = compiled;
    const rest = { mac, hold: { name, uid, owner }, createdMs, quarantine };
    if (compiled.family === 4) {
      const { definition } = compiled;
      this.v4.setHold(name, { ...rest, definition, address: definition.address.value });
    } else {
      const { definition } = compiled;
      this.v6.setHold(name, { ...rest, definition, address: definition.address.toString() });
    }
  }

  deleteHold(name: string): void {
    this.#options.findings.tell(`Hold ${name}`, []);
    this.#forgetHold(name);
  }

  /** What a state file had and the server has not is gone. */
  retainPools(isThere: (key: ObjectKey) => boolean): void {
    for (const key of Array.from(this.#poolObjects.keys())) if (!isThere(key)) this.deletePool(key);
  }

  retainHolds(isThere: (name: string) => boolean): void {
    for (const name of Array.from(this.#holds)) if (!isThere(name)) this.deleteHold(name);
  }

  /** What changed since the last call. */
  takeDifference(): ServedDifference {
    const dirty = [...this.#dirtyPools];
    this.#dirtyPools.clear();
    const v4 = { ...differenceOf(dirty, this.#pools), ...this.v4.takeDifference() };
    const v6 = { ...differenceOf(dirty, this.#poolsV6), ...this.v6.takeDifference() };
    const changed = [v4.set, v4.deleted, v4.quarantines, v6.set, v6.deleted, v6.quarantines, dirty];
    return { v4, v6, isEmpty: changed.every(({ length }) => length === 0) };
  }

  /** Its name has the address: it is of one family, whichever. */
  #forgetHold(name: string): void {
    this.#holds.delete(name);
    this.v4.setHold(name, undefined);
    this.v6.setHold(name, undefined);
  }
}

function differenceOf<Pool>(dirty: readonly ObjectKey[], pools: ReadonlyMap<ObjectKey, Pool>) {
  return {
    setPools: dirty.flatMap((key) => pools.get(key) ?? []),
    deletePools: dirty.filter((key) => !pools.has(key)),
  };
}

function reserved<Definition, Key>(definition: Definition, mac: Mac, address: Key): RecordOf<Definition, Key> {
  return { definition, mac, address, hold: undefined, createdMs: 0, quarantine: undefined };
}
