// What one VM network serves, made from its pools and Holds: a set of records in, the differences for the servers out.
//
// Promised: the answer depends on the records alone, not on the order in which they came: every agent serves the same,
// also one that serves some of the pools, since it judges them beside all others. An address is served to one owner at
// most: a Hold goes before what pools keep, an older pool before a younger. A bad record costs nobody else anything.
import { isDeepStrictEqual } from "node:util";

import { formatDomain } from "../api/pools/domain.ts";
import type { StoredHold, StoredManagedPool } from "../cluster/resources.ts";
import type { BindingDefinition } from "../dhcp/server/binding.ts";
import type { PoolDefinition } from "../dhcp/server/pool.ts";
import type { BindingDefinitionV6 } from "../dhcp/v6/server/binding.ts";
import type { PoolDefinitionV6 } from "../dhcp/v6/server/pool-definition.ts";
import type { Domain } from "../ipam/ledger.ts";
import { type DeepReadonly, keyOf, type ObjectKey, parseKey } from "../kube/meta.ts";
import { type Address, equal } from "../net/address.ts";
import type { Mac } from "../net/mac.ts";
import { type Forfeit, forfeitsOf } from "../vmnet/rules/pool-forfeit.ts";
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
  readonly v4: BindingRecords<BindingDefinition, number>;
  readonly v6: BindingRecords<BindingDefinitionV6, string>;
  readonly #options: ServedNetworkOptions;
  /** Key: namespace/name. All that count on the network. */
  readonly #judged = new Map<ObjectKey, JudgedPool>();
  /** One of `#judged` is new, changed or gone. */
  #isJudgementDue = false;
  /** Key: a pool that is served. Whether its server's addresses are its own. */
  readonly #servers = new Map<ObjectKey, { readonly v4: boolean; readonly v6: boolean }>();
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
    const isServed = (pool: string) => this.#isServed(pool);
    this.v4 = new BindingRecords(isServed);
    this.v6 = new BindingRecords(isServed);
  }

  /** As the server gave them, for the state file. */
  get poolObjects(): DeepReadonly<StoredManagedPool>[] {
    return Array.from(this.#judged.values(), ({ object }) => object);
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
    return this.#judged.get(key)?.object;
  }

  pool(key: ObjectKey): PoolDefinition | undefined {
    return this.#pools.get(key);
  }

  poolV6(key: ObjectKey): PoolDefinitionV6 | undefined {
    return this.#poolsV6.get(key);
  }

  /** Whether an agent may answer at the pool's server address: nobody has it, and no pool that goes before names it. */
  hasServer(pool: ObjectKey): boolean {
    return this.#servers.get(pool)?.v4 === true;
  }

  /** What a server was told of the address. */
  binding(address: Address): BindingRecord | BindingRecordV6 | undefined {
    return address.family === 4 ? this.v4.get(address.value) : this.v6.get(address.toString());
  }

  /** A pool of another network, or one that may not name this one, counts as gone. */
  setPool(object: DeepReadonly<StoredManagedPool>, compiled: CompiledPool = compileManagedPool(object)): void {
    const key = keyOf(object);
    const { onlyPools } = this.#options;
    const isOurs = compiled.network === this.name && (onlyPools?.has(key) === true || this.#mayName(key));
    if (!isOurs) return this.deletePool(key);
    this.#judged.set(key, { object, compiled });
    this.#isJudgementDue = true;
  }

  deletePool(key: ObjectKey): void {
    if (!this.#judged.delete(key)) return;
    this.#options.findings.tell(`ippl ${key}`, []);
    this.#pools.delete(key);
    this.#poolsV6.delete(key);
    this.#servers.delete(key);
    if (this.#isServed(key)) this.#dirtyPools.add(key);
    this.v4.setReservations(key, []);
    this.v6.setReservations(key, []);
    this.#isJudgementDue = true;
  }

  #mayName(pool: ObjectKey): boolean {
    const { namespace = "" } = parseKey(pool);
    return namespace === parseKey(this.name).namespace || this.#options.trusted?.has(namespace) === true;
  }

  #isServed(pool: ObjectKey): boolean {
    return this.#options.onlyPools?.has(pool) !== false;
  }

  /** Every pool beside all others: what of it is served, and the reservations of all, since some may be one's. */
  #judge(): void {
    if (this.#isJudgementDue) {
      this.#isJudgementDue = false;
      const claims = Array.from(this.#judged.values(), ({ compiled }) => compiled.claim);
      for (const [key, pool] of this.#judged) {
        const forfeits = forfeitsOf(pool.compiled.claim, claims);
        if (pool.forfeits === undefined || !isDeepStrictEqual(pool.forfeits, forfeits)) this.#set(key, pool, forfeits);
      }
    }
    for (const [key, pool] of this.#judged) if (this.#isServed(key)) this.#judgeServers(key, pool);
  }

  #set(key: ObjectKey, pool: JudgedPool, forfeits: readonly Forfeit[]): void {
    pool.forfeits = forfeits;
    const { reservations, reservationsV6, definition, definitionV6, findings } = pool.compiled;
    const createdMs = Date.parse(pool.object.metadata.creationTimestamp ?? "") || Infinity;
    const isKept = ({ address }: { readonly address: Address }) => !isLost(forfeits, "reservations", address);
    const v4 = reservations.filter(isKept);
    const v6 = reservationsV6.filter(isKept);
    this.v4.setReservations(
      key,
      v4.map((each) => reserved(each, each.mac!, each.address.value, createdMs)),
    );
    this.v6.setReservations(
      key,
      v6.map((each) => reserved(each, each.mac, each.address.toString(), createdMs)),
    );
    if (!this.#isServed(key)) return;
    this.#options.findings.tell(`ippl ${key}`, [...findings, ...forfeits.map(({ message }) => message)]);
    setOrDelete(this.#pools, key, definition);
    setOrDelete(this.#poolsV6, key, definitionV6);
    this.#servers.delete(key);
    this.#dirtyPools.add(key);
  }

  /** A Hold may take a server's address away: looked at with every change, which is two look-ups for each pool. */
  #judgeServers(key: ObjectKey, { compiled, forfeits = [] }: JudgedPool): void {
    const { serverIdentifier } = compiled.definition ?? {};
    const { serverAddress } = compiled.definitionV6 ?? {};
    const isOwn = (address: Address | undefined, isHeld: boolean) =>
      address !== undefined && !isHeld && !isLost(forfeits, "serverIP", address);
    const v4 = isOwn(serverIdentifier, serverIdentifier !== undefined && this.v4.isHeld(serverIdentifier.value));
    const v6 = isOwn(serverAddress, serverAddress !== undefined && this.v6.isHeld(serverAddress.toString()));
    const known = this.#servers.get(key);
    if (known?.v4 === v4 && known.v6 === v6) return;
    this.#servers.set(key, { v4, v6 });
    if (compiled.definitionV6 !== undefined) {
      const { serverAddress: address, ...rest } = compiled.definitionV6;
      this.#poolsV6.set(key, v6 && address !== undefined ? { ...rest, serverAddress: address } : rest);
    }
    this.#dirtyPools.add(key);
  }

  setHold(object: DeepReadonly<StoredHold>): void {
    const { findings } = this.#options;
    const { name = "", uid = "" } = object.metadata;
    const compiled = compileHold(object, this.domain);
    findings.tell(`Hold ${name}`, typeof compiled === "string" ? [compiled] : []);
    const isServed = compiled !== undefined && typeof compiled !== "string";
    if (!isServed) return this.#forgetHold(name);
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
    for (const key of Array.from(this.#judged.keys())) if (!isThere(key)) this.deletePool(key);
  }

  retainHolds(isThere: (name: string) => boolean): void {
    for (const name of Array.from(this.#holds)) if (!isThere(name)) this.deleteHold(name);
  }

  /** What changed since the last call. */
  takeDifference(): ServedDifference {
    this.#judge();
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

/** A pool that counts on the network, served here or not. */
interface JudgedPool {
  readonly object: DeepReadonly<StoredManagedPool>;
  readonly compiled: CompiledPool;
  /** Undefined: not judged yet. */
  forfeits?: readonly Forfeit[];
}

function isLost(forfeits: readonly Forfeit[], field: Forfeit["field"], address: Address): boolean {
  return forfeits.some((each) => each.field === field && equal(each.address, address));
}

function setOrDelete<Item>(items: Map<ObjectKey, Item>, key: ObjectKey, item: Item | undefined): void {
  if (item === undefined) items.delete(key);
  else items.set(key, item);
}

function reserved<Definition, Key>(
  definition: Definition,
  mac: Mac,
  address: Key,
  createdMs: number,
): RecordOf<Definition, Key> {
  return { definition, mac, address, hold: undefined, createdMs, quarantine: undefined };
}
