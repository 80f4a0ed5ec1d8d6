// The pools that this daemon hands out of: each pool object found and adopted once, each domain's picture filled at its
// first use and refreshed when it proves old. An ADD reads nothing once its pool is known. A picture is filled from the
// leader's free map where there is one (a few KiB), else by a list of the namespace, which serves every domain in it.
import { domainAnnotation } from "../../api/holds/hold-marks.ts";
import { readAllocations } from "../../api/pools/allocations.ts";
import { parseDomain } from "../../api/pools/domain.ts";
import { settledDomain, type SettlingRule } from "../../api/pools/pool-domain.ts";
import { poolName } from "../../api/pools/pool-name.ts";
import { decodeFreeMap, type FreeMap, freeMapName } from "../../cluster/free-map.ts";
import { ensurePool, readPool } from "../../cluster/pool-object.ts";
import { configMaps } from "../../cluster/resources.ts";
import type { SlicedRanges } from "../../cluster/sliced-ranges.ts";
import { CniError, errorCodes } from "../../cni/error.ts";
import { type Domain, type Hold, LedgerError } from "../../ipam/ledger.ts";
import type { OwnerKey } from "../../ipam/owner.ts";
import type { Pool } from "../../ipam/pool.ts";
import { asError, orAborted } from "../../kube/abort.ts";
import { deadline } from "../../kube/clock.ts";
import { parseKey } from "../../kube/meta.ts";
import { unless } from "../../kube/unless.ts";
import { adoptPool } from "../../ledger/adoption/adoption.ts";
import { listHolds } from "../../ledger/reservation/list-holds.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { PoolUse, Share } from "../add/shares.ts";
import type { DaemonOptions } from "../context.ts";
import type { HoldIndex } from "../holds/hold-index.ts";
import type { RetryPause } from "../retry-pause.ts";
import { SingleFlight } from "../single-flight.ts";
import { CandidateSpread } from "./candidate-spread.ts";
import { DomainCache, type Listed } from "./domain-cache.ts";

export interface PoolResolverOptions extends Pick<DaemonOptions, "client" | "clock" | "log" | "node"> {
  readonly held: HoldIndex;
  /** When a list that failed may be asked for again. */
  readonly pace: RetryPause;
  readonly coexistence: () => boolean;
  /** How many daemons there are; 0: not known. */
  readonly daemons: () => number;
}

export interface PoolPlace {
  readonly name: string;
  readonly domain: Domain;
}

export interface OpenPool {
  readonly pool: Pool;
  readonly picture: DomainCache;
  readonly name: string | undefined;
}

/** The pool of a free map. */
interface MapPlace {
  readonly namespace: string;
  readonly name: string;
  readonly range: Prefix;
}

/** A list that began so recently counts as new: the API server is not asked again by every refusal of a burst. */
const freshMs = 1000;
/** The leader writes the map of a nearly full range so often. */
const lookMs = 250;
/** What a look after a conflict may cost an ADD: the next POST, without it, costs some 10 ms. */
const lookLimitMs = 500;
/** How long the first ADD in a domain waits for its picture, and how long a list may take in all. */
const fillMs = 1500;
const listMs = 60_000;
/** A map that was not renewed for so long has no leader. */
const mapAgeMaxMs = 60_000;
/** The first try marks the pool; a second name of the same pool may say something else. */
const triesMax = 3;

export class PoolResolver {
  readonly #options: PoolResolverOptions;
  /** namespace, identity, naming, protection -> the pool object */
  readonly #places = new SingleFlight<PoolPlace>();
  readonly #warned = new Set<string>();
  /** namespace, domain -> its picture */
  readonly #poolResolver = new Map<string, DomainCache>();
  /** namespace, pool -> a pool whose picture came from a map */
  readonly #mapped = new Map<string, MapPlace & { readonly picture: DomainCache }>();
  /** namespace/pool -> the map that was read last, if any: finding the pool and filling its picture share one read */
  readonly #maps = new Map<string, { readonly map: FreeMap | undefined; readonly readMs: number }>();
  /** namespace, pool -> a pool object that is handed out of */
  readonly #opened = new Map<string, { namespace: string; name: string; domain: Domain }>();
  /** namespace/pool -> the look at its map under way */
  readonly #looks = new SingleFlight<boolean>({ keep: false });
  /** namespace -> the list under way */
  readonly #lists = new SingleFlight<void>({ keep: false });
  /** namespace -> when the last list began, and how long it took */
  readonly #listed = new Map<string, { startedMs: number; tookMs: number }>();

  #generation = 0;
  /** As told last: the version of the sliced ranges, and their phases. */
  #sliced = { version: 0, phases: "" };

  constructor(options: PoolResolverOptions) {
    this.#options = options;
  }

  all(): IterableIterator<DomainCache> {
    return this.#poolResolver.values();
  }

  find(namespace: string, domain: Domain): DomainCache | undefined {
    return this.#poolResolver.get(`${namespace} ${domain}`);
  }

  /** A freed address is remembered even where nothing was handed out yet: its owner may ask for it next. */
  released(namespace: string, { domain, address, owner }: Hold, cooldownMs: number, lastOwner?: OwnerKey): void {
    this.#pictureOf(namespace, domain).released(address, owner, cooldownMs, lastOwner);
  }

  async open(share: Share, signal: AbortSignal): Promise<OpenPool> {
    const { namespace } = share;
    const generation = this.#generation;
    const place = share.pool === undefined ? undefined : await this.placeOf(share.pool, signal);
    if (generation !== this.#generation) throw stateChanged();
    const name = place?.name;
    const picture = this.#pictureOf(namespace, place?.domain ?? share.domain ?? "");
    picture.usedMs = this.#options.clock.wallMs();
    // Entries of a pool that whereabouts fills are in no list from before the pool was opened.
    const isNew = this.#options.coexistence() && !this.#opened.has(mapKey(namespace, name));
    if (name !== undefined) this.#opened.set(mapKey(namespace, name), { namespace, name, domain: picture.domain });
    const pool = picture.poolFor(share.definition);
    const isKnown = picture.listedMs > Number.NEGATIVE_INFINITY || this.#mapped.has(mapKey(namespace, name));
    if (!isKnown || isNew) await this.#fill(picture, share, name, signal);
    return { pool, picture, name: name === undefined ? undefined : `${namespace}/${name}` };
  }

  /** The pool object of a range, found or made, and adopted; with the domain that it is handed out in. */
  async placeOf(use: PoolUse, signal: AbortSignal): Promise<PoolPlace> {
    const key = `${use.namespace} ${use.identity.network} ${use.identity.range} ${use.naming} ${use.protectsOverlaps} ${use.mayStandAlone}`;
    return this.#places.get(key, signal, (own) => this.#resolve(use, own));
  }

  /**
   * While a range is cut nobody here looks at its shared pool: it may be another one afterwards, of another domain.
   * Blocks that become shared one by one are no such news; a version that was not heard of may have been.
   */
  told({ version, ranges }: SlicedRanges): void {
    const phases = ranges.map(({ namespace, pool, range, phase }) => `${namespace}/${pool} ${range} ${phase}`).join();
    const { version: before, phases: known } = this.#sliced;
    this.#sliced = { version, phases };
    if (version === before || (version === before + 1 && phases === known)) return;
    this.#places.clear();
    this.#maps.clear();
  }

  /** Lists the namespace, unless a list began after `sinceMs` or in the last moment. */
  async refresh(namespace: string, sinceMs: number, signal: AbortSignal): Promise<void> {
    const lastMs = this.#listed.get(namespace)?.startedMs ?? Number.NEGATIVE_INFINITY;
    if (lastMs >= Math.min(sinceMs, this.#options.clock.wallMs() - freshMs)) return;
    await this.#lists.get(namespace, signal, (own) => this.#listInTime(namespace, own));
  }

  /**
   * After a conflict: the leader's map as it is now, read four times a second at most for all callers. Everybody wants
   * the rest of a nearly full range, and an old picture is a conflict for each address taken since. No map: nothing.
   */
  async lookAgain({ picture, name: pool }: OpenPool, { pool: use }: Share, signal: AbortSignal): Promise<void> {
    const { clock, coexistence, log } = this.#options;
    const readMs = this.#maps.get(pool ?? "")?.readMs ?? Number.NEGATIVE_INFINITY;
    if (pool === undefined || use === undefined || coexistence() || clock.wallMs() - readMs < lookMs) return;
    const { range } = use.identity;
    const { namespace = "", name } = parseKey(pool);
    using limit = deadline(clock, lookLimitMs, signal);
    try {
      const place = { namespace, name, range };
      await this.#looks.get(pool, limit.signal, (own) => this.#suppose(picture, place, own, lookMs));
    } catch (error) {
      // Also of a server that does not answer, nobody asks again at once.
      this.#maps.set(pool, { map: undefined, readMs: clock.wallMs() });
      log.debug("a free map could not be read after a conflict", { pool, error: asError(error) });
    }
  }

  /** For the background: by the map where there is one, else by a list, at most a hundredth of the time. */
  async renew(picture: DomainCache, ageMs: number, signal: AbortSignal): Promise<void> {
    const { namespace } = picture;
    const maps = [...this.#mapped.values()].filter((each) => each.picture === picture);
    const read = await Promise.all(maps.map((each) => this.#readMap(each, signal)));
    for (const map of read) if (map !== undefined) picture.suppose(map.prefix, map.taken, map.writtenMs);
    if (maps.length > 0 && read.every((map) => map !== undefined)) return;
    const last = this.#listed.get(namespace);
    const pauseMs = Math.max(ageMs, 100 * (last?.tookMs ?? 0));
    if (last !== undefined && this.#options.clock.wallMs() - last.startedMs < pauseMs) return;
    await this.refresh(namespace, this.#options.clock.wallMs(), signal);
  }

  /** After a pause or a change of coexistence: pools may have moved, and must be adopted again. */
  forget(): void {
    this.#generation += 1;
    this.#places.clear();
    this.#mapped.clear();
    this.#maps.clear();
    this.#opened.clear();
    this.#listed.clear();
    this.#poolResolver.clear();
  }

  async #fill(picture: DomainCache, share: Share, name: string | undefined, signal: AbortSignal): Promise<void> {
    if (name !== undefined && share.pool !== undefined && !this.#options.coexistence()) {
      const { namespace, identity } = share.pool;
      const at = { namespace, name, range: identity.range };
      if (await this.#suppose(picture, at, signal))
        return void this.#mapped.set(mapKey(namespace, name), { picture, ...at });
    }
    await this.#listPatiently(share.namespace, signal);
  }

  /** True: the picture goes by the map. */
  async #suppose(picture: DomainCache, at: MapPlace, signal: AbortSignal, ageMs = freshMs): Promise<boolean> {
    const map = await this.#readMap(at, signal, ageMs);
    // Forgotten meanwhile: the next picture knows nothing yet.
    if (map === undefined || this.find(picture.namespace, picture.domain) !== picture) return false;
    picture.suppose(map.prefix, map.taken, map.writtenMs);
    return true;
  }

  /** A picture is a hint: the ADD soon goes on beside a slow list. Not with whereabouts: a miss costs three writes. */
  async #listPatiently(namespace: string, signal: AbortSignal): Promise<void> {
    const { clock, coexistence } = this.#options;
    const limit = deadline(clock, listMs);
    const list = this.#lists
      .get(namespace, limit.signal, (own) => this.#listInTime(namespace, own))
      .finally(() => limit[Symbol.dispose]());
    using patience = deadline(clock, coexistence() ? 2 * listMs : fillMs, signal);
    try {
      await orAborted(list, patience.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!patience.signal.aborted) throw error;
      list.catch((later: unknown) =>
        this.#options.log.warn("the list of a namespace failed", { namespace, error: later }),
      );
    }
  }

  async #resolve(use: PoolUse, signal: AbortSignal, tries = 1): Promise<PoolPlace> {
    const { client, log } = this.#options;
    const now = () => this.#options.clock.wallMs();
    const { namespace, identity, naming, l3 } = use;
    const wanted = poolName(identity, naming);
    const coexistence = this.#options.coexistence();
    // The leader also writes maps of pools that are not adopted; only an adopted pool's map names the domain.
    const map = coexistence
      ? undefined
      : await this.#readMap({ namespace, name: wanted, range: identity.range }, signal);
    if (map?.domain !== undefined) return this.#settle(use, wanted, map.domain);
    // While whereabouts is active the pool's entries arbitrate, for any network; a later adoption sees all of them.
    const first = coexistence ? undefined : settledDomain(ruleOf(use, wanted), undefined);
    const pool = await ensurePool(client, { namespace, identity, naming, l3, domain: first, signal });
    const place = this.#settle(use, pool.name, pool.domain);
    if (pool.adopted) return place;
    const adoption = await adoptPool(client, { pool, domain: place.domain, now, coexistence, signal });
    for (const warning of adoption.warnings) log.warn(warning, { pool: `${namespace}/${pool.name}` });
    if (adoption.blocking.length > 0) throw blocked(`${namespace}/${pool.name}`, adoption.blocking);
    if (coexistence || adoption.pool.domain === place.domain) return place;
    // Another network was faster: its mark on the pool counts.
    if (tries === triesMax) throw mixed(`${namespace}/${pool.name}`, use.protectsOverlaps, adoption.pool.domain ?? "");
    return this.#resolve(use, signal, tries + 1);
  }

  #settle(use: PoolUse, name: string, marked: Domain | undefined): PoolPlace {
    const { namespace, protectsOverlaps } = use;
    const domain = settledDomain(ruleOf(use, name), marked);
    const pool = `${namespace}/${name}`;
    if (domain === undefined) throw mixed(pool, protectsOverlaps, marked ?? "");
    if (!protectsOverlaps && parseDomain(domain).scope === "network" && !this.#warned.has(pool)) {
      this.#warned.add(pool);
      this.#options.log.warn(strictWords, { pool, domain });
    }
    return { name, domain };
  }

  async #readMap(place: MapPlace, signal: AbortSignal, ageMs = freshMs): Promise<FreeMap | undefined> {
    const { namespace, name, range } = place;
    const pool = `${namespace}/${name}`;
    const readMs = this.#options.clock.wallMs();
    const known = this.#maps.get(pool);
    if (known !== undefined && readMs - known.readMs < ageMs) return known.map;
    const at = { namespace, name: freeMapName(pool) };
    const get = this.#options.client.get(configMaps, at, { resourceVersion: "0", signal });
    const object = await unless(["not-found", "forbidden"], get);
    const read = object && decodeFreeMap(object);
    const isMeant = read?.pool === pool && String(read.prefix) === String(range);
    const map = isMeant && this.#options.clock.wallMs() - read.writtenMs <= mapAgeMaxMs ? read : undefined;
    this.#maps.set(pool, { map, readMs });
    return map;
  }

  #listInTime(namespace: string, signal: AbortSignal): Promise<void> {
    return this.#options.pace.run(signal, () => this.#list(namespace, signal));
  }

  async #list(namespace: string, signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#options;
    const startedMs = clock.wallMs();
    const listed: Listed[] = [];
    for await (const each of listHolds(client, { namespace, includeCooling: true, signal })) {
      if (each.unreadable === undefined) listed.push(each);
      else log.warn(each.unreadable);
    }
    const found = Map.groupBy(listed, ({ hold }) => hold.domain);
    if (this.#options.coexistence()) await this.#listEntries(namespace, found, signal);
    this.#listed.set(namespace, { startedMs, tookMs: clock.wallMs() - startedMs });
    for (const picture of this.#poolResolver.values()) {
      if (picture.namespace === namespace) picture.replace(found.get(picture.domain) ?? [], startedMs);
    }
  }

  /** While whereabouts is active its pools have entries without a hold; they count as held. */
  async #listEntries(namespace: string, found: Map<Domain, Listed[]>, signal: AbortSignal): Promise<void> {
    for (const { name, domain } of [...this.#opened.values()].filter((each) => each.namespace === namespace)) {
      const object = await readPool(this.#options.client, { namespace, name, signal });
      const listed = found.get(domain) ?? [];
      const known = new Set(listed.map(({ hold }) => String(hold.address)));
      for (const { address, owner } of object === undefined ? [] : readAllocations(object).entries) {
        if (!known.has(String(address))) listed.push({ hold: { domain, address, owner, version: "" } });
      }
      found.set(domain, listed);
    }
  }

  #pictureOf(namespace: string, domain: Domain): DomainCache {
    const key = `${namespace} ${domain}`;
    const known = this.#poolResolver.get(key);
    if (known !== undefined) return known;
    const { held, clock, daemons, node } = this.#options;
    const now = () => clock.wallMs();
    const spread = { seed: `${node} ${domain}`, now: () => clock.monotonicMs(), daemons };
    const picture = new DomainCache({ namespace, domain, held, now, makeSpread: () => new CandidateSpread(spread) });
    this.#poolResolver.set(key, picture);
    return picture;
  }
}

/** Of a network that says false, in a pool that is not for it alone. */
export const strictWords =
  "enable_overlapping_ranges is false here and does not count: another network of the pool says true, or the definition " +
  "is of a namespace that does not administer the pool (pool_namespace: nad, or --trusted-namespaces of the daemons and " +
  "the controller); an address is given once in the whole network";

export function stateChanged(): LedgerError {
  const words = "whereabouts came or went, or handing out was paused, while the address was looked for";
  return new LedgerError("unavailable", `the state of the cluster changed: ${words}. Try again.`);
}

function mixed(pool: string, protectsOverlaps: boolean, marked: Domain): CniError {
  return new CniError(
    errorCodes.badConfiguration,
    `IPPool ${pool} is handed out in the domain ${marked} (its annotation ${domainAnnotation}), by a network with ` +
      `enable_overlapping_ranges: ${!marked.startsWith("pool:")}; this network has enable_overlapping_ranges: ${protectsOverlaps}, and one ` +
      "address could be given by both. Set enable_overlapping_ranges alike in both, or give one of them a network_name of its own.",
  );
}

function ruleOf({ namespace, identity, protectsOverlaps, mayStandAlone }: PoolUse, name: string): SettlingRule {
  return { network: identity.network, protectsOverlaps, mayStandAlone, pool: { namespace, name } };
}

function mapKey(namespace: string, name: string | undefined): string {
  return `${namespace}/${name ?? ""}`;
}

function blocked(pool: string, why: readonly string[]): CniError {
  return new CniError(
    errorCodes.refused,
    `IPPool ${pool} has entries that cannot be read, so nobody knows which addresses are in use, and none is given: ${why.slice(0, 5).join(" ")}`,
  );
}
