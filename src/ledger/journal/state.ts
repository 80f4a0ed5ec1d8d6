// What a journal's records add up to. One function carries out a record, read or new; a refusal of the disk undoes it.
import type { Cooling } from "../../ipam/cooling.ts";
import type { Domain, Hold } from "../../ipam/ledger.ts";
import type { Address } from "../../net/address.ts";
import { common, type IntervalSet } from "../../net/interval-set.ts";
import { contains } from "../../net/prefix.ts";
import type { RestClock } from "./cooldown-clock.ts";
import { type JournalGrant, usableOf } from "./grant.ts";
import { JournalHolds } from "./journal-holds.ts";
import { encodeRecord, type JournalRecord, placeOf } from "./record.ts";
import type { Snapshot } from "./rewrite.ts";

type Grants = Map<string, JournalGrant>;

export class State {
  readonly books = new JournalHolds();
  /** key -> the grant as decided */
  readonly grants: Grants = new Map();
  /** domain -> the latest generation with a dropped grant. Never undone: it says nothing of grants that are known. */
  readonly dropped = new Map<Domain, number>();
  /** key -> the grant as the disk has it */
  #durable: Grants = new Map();
  /** domain -> what may be handed out; made anew when a grant changes */
  readonly #usable = new Map<Domain, IntervalSet>();
  readonly #clock: RestClock;
  renewedMs: number | undefined;
  /** The greatest version given to a hold so far. Never taken back: no two holds ever have the same. */
  versions = 0;

  constructor(clock: RestClock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.books.count + this.books.restCount + this.grants.size + this.dropped.size + 1;
  }

  apply(record: JournalRecord): void {
    switch (record.op) {
      case "head":
        this.versions = Math.max(this.versions, record.versions);
        return;
      case "hold": {
        const { domain, address, version } = record.hold;
        this.#set(domain, address, record.hold);
        this.versions = Math.max(this.versions, Number(version));
        return;
      }
      case "free": {
        const { domain, address, atMs, cooldownMs, lastOwner } = record;
        const untilMs = this.#clock.endOf(atMs, cooldownMs);
        this.#set(domain, address, undefined, cooldownMs > 0 ? { address, untilMs, lastOwner } : undefined);
        return;
      }
      case "move": {
        const { domain, address } = record;
        this.#set(domain, address, undefined);
        for (const grant of this.#around(domain, address)) {
          if (grant.moved.some((each) => String(each) === String(address))) continue;
          this.#setGrant(grant.key, { ...grant, moved: [...grant.moved, address] });
        }
        return;
      }
      case "grant":
        return this.#setGrant(record.grant.key, record.grant);
      case "drop": {
        const grant = this.grants.get(record.key);
        if (grant !== undefined) this.#drop(grant.domain, grant.generation);
        return this.#setGrant(record.key, undefined);
      }
      case "dropped":
        return this.#drop(record.domain, record.generation);
      case "renewed":
        this.renewedMs = record.wallMs;
    }
  }

  /** Carries it out; what is returned takes it back, as long as all that came after was taken back before. */
  applyWithUndo(record: JournalRecord): () => void {
    const place = placeOf(record);
    const hold = place && this.books.get(place.domain, place.address);
    const rest = place && this.books.resting(place.domain, place.address, this.#clock.now());
    const key = record.op === "drop" ? record.key : record.op === "grant" ? record.grant.key : undefined;
    const grant = key === undefined ? undefined : this.grants.get(key);
    const around = record.op === "move" ? this.#around(record.domain, record.address) : [];
    this.apply(record);
    // The time of the last renewal is a fact, wherever it is written.
    return () => {
      if (place !== undefined) this.#set(place.domain, place.address, hold, rest);
      if (key !== undefined) this.#setGrant(key, grant);
      for (const each of around) this.#setGrant(each.key, each);
    };
  }

  /** What may be handed out now: wider only once it is durable, narrower at once. */
  usable(domain: Domain): IntervalSet {
    const known = this.#usable.get(domain);
    if (known !== undefined) return known;
    const decided = [...this.grants.values()].filter((grant) => grant.domain === domain);
    const isDurable = decided.every((grant) => this.#durable.get(grant.key) === grant);
    const all = usableOf(decided);
    const before = () => usableOf([...this.#durable.values()].filter((grant) => grant.domain === domain));
    const usable = isDurable ? all : common(all, before());
    this.#usable.set(domain, usable);
    return usable;
  }

  /** The grants as they are now: to be given to `settle` once they are on the disk. */
  grantsNow(): ReadonlyMap<string, JournalGrant> {
    return new Map(this.grants);
  }

  settle(grants: ReadonlyMap<string, JournalGrant>): void {
    this.#durable = new Map(grants);
    this.#usable.clear();
  }

  /** All that is known now, as the lines of a new file. Holds and grants never change: only the lists are copied. */
  snapshot(id: string, doubt: number): Snapshot {
    const nowMs = this.#clock.now();
    const wallMs = this.#clock.toWall(nowMs);
    const { books, versions, renewedMs } = this;
    const dropped = [...this.dropped];
    const domains = books.domains();
    const grants = this.grantsNow();
    const holds = domains.flatMap((domain) => [...books.of(domain)]);
    const rests = domains.flatMap((domain) => [...books.rests(domain, nowMs)].map((rest) => ({ ...rest, domain })));
    const lines = dropped.length + grants.size + holds.length + rests.length + (renewedMs === undefined ? 0 : 1);
    function* records(next: number): Generator<JournalRecord> {
      yield { op: "head", id, lines, next, versions, doubt };
      if (renewedMs !== undefined) yield { op: "renewed", wallMs: renewedMs };
      for (const [domain, generation] of dropped) yield { op: "dropped", domain, generation };
      for (const grant of grants.values()) yield { op: "grant", grant };
      for (const hold of holds) yield { op: "hold", hold };
      for (const { domain, address, untilMs, lastOwner } of rests) {
        // What is left of its cooldown, from now: so it is not longer than that, however the clock jumps.
        yield { op: "free", domain, address, atMs: wallMs, cooldownMs: untilMs - nowMs, lastOwner };
      }
    }
    return { lines: (next) => records(next).map(encodeRecord), count: lines + 1, settle: () => this.settle(grants) };
  }

  #set(domain: Domain, address: Address, hold: Hold | undefined, rest?: Cooling): void {
    this.books.set(domain, address, hold);
    this.books.rest(domain, address, rest);
  }

  #drop(domain: Domain, generation: number): void {
    this.dropped.set(domain, Math.max(generation, this.dropped.get(domain) ?? 0));
  }

  #around(domain: Domain, address: Address): JournalGrant[] {
    return [...this.grants.values()].filter((each) => each.domain === domain && contains(each.slice, address));
  }

  #setGrant(key: string, grant: JournalGrant | undefined): void {
    const before = this.grants.get(key);
    for (const each of [before, grant]) if (each !== undefined) this.#usable.delete(each.domain);
    if (grant === undefined) this.grants.delete(key);
    else this.grants.set(key, grant);
  }
}
