// The ledger of tests and simulations: holds in memory, with faults on request. Several ledgers may share one store, as
// several processes share one API server.
import { compare } from "../../net/address.ts";
import { type Domain, type FindOptions, type Hold, LedgerError, type LedgerOptions } from "../ledger.ts";
import type { AmendableLedger, AmendOutcome, AmendRequest } from "../ledger.ts";
import type { ReleaseOutcome, ReleaseRequest, TakeOutcome, TakeRequest } from "../ledger.ts";
import { formerKey, type OwnerKey, ownerKey, sameContainer, succeeds, unused } from "../owner.ts";

interface Rest {
  readonly untilMs: number;
  readonly lastOwner: OwnerKey;
}

/** What the ledgers of one simulated cluster share. */
export class MemoryStore {
  /** domain, space, address -> the hold */
  readonly holds = new Map<string, Hold>();
  /** domain, space, address -> until when it cools; an entry whose time is over counts for nothing */
  readonly resting = new Map<string, Rest>();
  versions = 0;
}

/** Where a fault strikes one call: before the write (nothing happened) or after it (it did, and nobody was told). */
export type LedgerFault = "lost-before-commit" | "lost-after-commit";

export interface MemoryLedgerOptions {
  readonly now: () => number;
  /** Asked once per take and release. */
  readonly fault?: () => LedgerFault | undefined;
}

export class MemoryLedger implements AmendableLedger {
  readonly #store: MemoryStore;
  readonly #now: () => number;
  readonly #fault: () => LedgerFault | undefined;

  constructor(store: MemoryStore, { now, fault = () => undefined }: MemoryLedgerOptions) {
    this.#store = store;
    this.#now = now;
    this.#fault = fault;
  }

  async take(request: TakeRequest, options: LedgerOptions = {}): Promise<TakeOutcome> {
    return this.#withFault(`taking ${request.address}`, options, () => this.#take(request));
  }

  async release(request: ReleaseRequest, options: LedgerOptions = {}): Promise<ReleaseOutcome> {
    return this.#withFault(`releasing ${request.address}`, options, () => this.#release(request));
  }

  async amend(request: AmendRequest, options: LedgerOptions = {}): Promise<AmendOutcome> {
    return this.#withFault(`changing ${request.address}`, options, () => this.#amend(request));
  }

  async find(
    domain: Domain,
    owner: OwnerKey,
    { signal, formerly, identities, mac }: FindOptions = {},
  ): Promise<readonly Hold[]> {
    signal?.throwIfAborted();
    const keys = new Set([owner, formerly]);
    return this.#inOrder((hold) => {
      if (hold.domain !== domain) return false;
      if (mac !== undefined) return hold.note?.mac === mac;
      if (identities === undefined) return keys.has(ownerKey(hold.owner));
      return identities.includes(hold.note?.identity ?? "");
    });
  }

  async *list(domain: Domain, { signal }: LedgerOptions = {}): AsyncIterable<Hold> {
    for (const hold of this.#inOrder((each) => each.domain === domain)) {
      signal?.throwIfAborted();
      yield hold;
    }
  }

  async #withFault<T>(what: string, { signal }: LedgerOptions, write: () => T): Promise<T> {
    signal?.throwIfAborted();
    // As over a network, the answer comes later and others get their turn in between.
    await Promise.resolve();
    const fault = this.#fault();
    const answer = fault === "lost-before-commit" ? undefined : write();
    if (fault === undefined) return answer as T;
    throw new LedgerError(
      "outcome-unknown",
      `${what}: the connection broke, and whether it was done is not known. Read it back.`,
    );
  }

  #take({ domain, address, owner, early = false, asIs = false, note, users }: TakeRequest): TakeOutcome {
    const key = `${domain} ${address}`;
    const hold = this.#store.holds.get(key);
    const mine = ownerKey(owner);
    const kept = note ?? hold?.note;
    const used = hold?.users ?? users;
    const written = { domain, address, owner, ...(kept && { note: kept }), ...(used && { users: used }) };
    if (hold !== undefined) {
      const isSame = ownerKey(hold.owner) === mine;
      if (!isSame && !succeeds(owner, hold.owner)) return { outcome: "held", hold };
      return {
        outcome: "yours",
        hold: isSame && (asIs || sameContainer(hold.owner, owner)) ? hold : this.#write(key, written),
      };
    }
    const rest = this.#store.resting.get(key);
    const isBack = rest?.lastOwner === mine || rest?.lastOwner === formerKey(owner);
    if (rest !== undefined && rest.untilMs > this.#now() && !isBack && !early) {
      return { outcome: "cooling", untilMs: rest.untilMs, lastOwner: rest.lastOwner };
    }
    this.#store.resting.delete(key);
    return { outcome: "taken", hold: this.#write(key, written) };
  }

  #release({ domain, address, owner, version, cooldownMs, park }: ReleaseRequest): ReleaseOutcome {
    const key = `${domain} ${address}`;
    const hold = this.#store.holds.get(key);
    if (hold === undefined) return { outcome: "gone" };
    if (ownerKey(hold.owner) !== owner || (version !== undefined && hold.version !== version)) {
      return { outcome: "superseded", hold };
    }
    if (park === true) {
      return { outcome: "parked", hold: this.#write(key, { ...hold, owner: unused(hold.owner) }) };
    }
    this.#store.holds.delete(key);
    if (cooldownMs > 0) this.#store.resting.set(key, { untilMs: this.#now() + cooldownMs, lastOwner: owner });
    return { outcome: "released" };
  }

  #amend({ domain, address, owner, version, to, users, note }: AmendRequest): AmendOutcome {
    const key = `${domain} ${address}`;
    const hold = this.#store.holds.get(key);
    if (hold === undefined) return { outcome: "gone" };
    if (ownerKey(hold.owner) !== owner || hold.version !== version) return { outcome: "superseded", hold };
    const changed = { ...(to && { owner: to }), ...(users && { users }), ...(note && { note }) };
    return { outcome: "amended", hold: this.#write(key, { ...hold, ...changed }) };
  }

  #write(key: string, { users = [], ...rest }: Omit<Hold, "version">): Hold {
    this.#store.versions += 1;
    const written = { ...rest, ...(users.length > 0 && { users }), version: String(this.#store.versions) };
    this.#store.holds.set(key, written);
    return written;
  }

  #inOrder(wanted: (hold: Hold) => boolean): Hold[] {
    return [...this.#store.holds.values()].filter(wanted).sort((a, b) => compare(a.address, b.address));
  }
}
