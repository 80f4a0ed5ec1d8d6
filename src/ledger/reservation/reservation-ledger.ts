// The ledger of shared ranges: one Kubernetes object per address, and the API server's create-if-absent as the arbiter
// (docs/decisions/0011). A take is one POST; after a 409 a read says who has it. A release is one guarded DELETE, or,
// with a cooldown, one guarded PUT. No lock, no leader; the clock only ends a cooldown.
// Old IPv6 names: whereabouts names the reservation of fd00::1 `fd00--1`, we name it in full. Two names would be two
// arbiters, so only the full name counts. Adoption brings every old name under it before a pool hands out, and while
// whereabouts is active each take also claims the old name (coexistence/): our object, the old name, the pool's entry;
// the first that is another's undoes those before. A release goes the other way: whatever it leaves still holds the
// address.
// Promised besides the port: an answer is on the server. Callers adopt the pool before.
import { macLabelName } from "../../api/claims/claim-marks.ts";
import {
  coolingOf,
  heldSelector,
  identityLabelName,
  macLabel,
  nodeLabelName,
  ownerLabelName,
  restingMarks,
} from "../../api/holds/hold-marks.ts";
import { hashLabel, ownerLabel } from "../../api/holds/owner-record.ts";
import { describeDomain, LedgerError } from "../../ipam/ledger.ts";
import type { AmendableLedger, AmendOutcome, AmendRequest, ReleaseOutcome, ReleaseRequest } from "../../ipam/ledger.ts";
import type {
  Domain,
  FindOptions,
  Hold,
  HoldKey,
  LedgerOptions,
  TakeOptions,
  TakeOutcome,
  TakeRequest,
} from "../../ipam/ledger.ts";
import { describeOwner, type OwnerKey, ownerKey, unused } from "../../ipam/owner.ts";
import { Recent } from "../../kube/cache/recent.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { type Signal, unless } from "../../kube/unless.ts";
import type { Address } from "../../net/address.ts";
import { keepsBeside, prepareBeside, withdrawBeside } from "../coexistence/beside.ts";
import { judgeTake, judgeWrite, type Met } from "../judgement.ts";
import { removeObject } from "./guarded-delete.ts";
import { ledgerError, reading } from "./ledger-error.ts";
import type { HeldObject } from "./list-holds.ts";
import { holdsIn, isAlias, isKept, isLeaving, readObject, readRecord, type Records } from "./records.ts";
import { recordsOf, rewritten, withFinalizer } from "./records.ts";
import { patiently, type Waiting } from "./retry-after.ts";

export interface ReservationLedgerOptions extends Waiting {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly node?: string;
  /** The wall clock, in milliseconds: cooling ends by it. */
  readonly now: () => number;
  /** Whether whereabouts is active. Asked at every take and release. Default: no. */
  readonly coexistence?: () => boolean;
}

/** Each time another process got through between a read and a write; eight in a row are a fight, not a race. */
const triesMax = 8;
/** A node has 250 pods as a rule, with up to 10 networks each, and about 1.5 KB per object: 6 MB at most. */
const recentMax = 4096;

type Found = Met & { readonly hold: Hold; readonly object: HeldObject };

export class ReservationLedger implements AmendableLedger {
  readonly #options: ReservationLedgerOptions;
  /** By the version of their hold: a release that names it needs no read, and the server refuses one that is older. */
  readonly #recent = new Recent<HeldObject>(recentMax);

  constructor(options: ReservationLedgerOptions) {
    this.#options = options;
  }

  /** Whereabouts is active: the one question that the path asks. */
  get #isBeside(): boolean {
    return this.#options.coexistence?.() === true;
  }

  async take(request: TakeRequest, options: TakeOptions = {}): Promise<TakeOutcome> {
    options.signal?.throwIfAborted();
    const what = `taking ${request.address} in ${describeDomain(request.domain)} for ${describeOwner(request.owner)}`;
    return this.#named(what, request.domain, (records) =>
      this.#isBeside ? this.#takeBeside(records, request, what, options) : this.#take(records, request, options),
    );
  }

  async release(request: ReleaseRequest, { signal }: LedgerOptions = {}): Promise<ReleaseOutcome> {
    signal?.throwIfAborted();
    const what = `releasing ${request.address} in ${describeDomain(request.domain)}`;
    return this.#named(what, request.domain, (records) =>
      this.#change<ReleaseOutcome>(records, request, signal, async (met) => {
        const { client, node } = this.#options;
        if (request.park === true) {
          const parked = { ...met.hold, owner: unused(met.hold.owner) };
          const written = await this.#update(records, rewritten(met.object, records.make(parked, node)), signal);
          if (written === undefined) return undefined;
          const hold = this.#read(records, request, written);
          await this.#tellUpstream(records, hold, signal);
          return { outcome: "parked", hold };
        }
        if (this.#isBeside) await this.#call(() => withdrawBeside(client, records, met.hold, signal), signal);
        if (!(await this.#free(records, request, met.object, signal))) return undefined;
        this.#recent.delete(met.hold.version);
        return { outcome: "released" };
      }),
    );
  }

  async amend(request: AmendRequest, { signal }: LedgerOptions = {}): Promise<AmendOutcome> {
    signal?.throwIfAborted();
    const what = `changing the hold of ${request.address} in ${describeDomain(request.domain)}`;
    return this.#named(what, request.domain, (records) =>
      this.#change<AmendOutcome>(records, request, signal, async (met) => {
        if (met.leaving === true) throw beingDeleted(request, met.object);
        const { to, users, note } = request;
        const next = { ...met.hold, ...(to && { owner: to }), ...(users && { users }), ...(note && { note }) };
        // A writer without a node of its own leaves the mark of the node that wrote last.
        const { node = met.object.metadata.labels?.[nodeLabelName] } = this.#options;
        const object = await this.#update(records, rewritten(met.object, records.make(next, node)), signal);
        if (object === undefined) return undefined;
        const hold = this.#read(records, request, object);
        if (to !== undefined) await this.#tellUpstream(records, hold, signal);
        return { outcome: "amended", hold };
      }),
    );
  }

  async find(domain: Domain, owner: OwnerKey, options: FindOptions = {}): Promise<readonly Hold[]> {
    const { signal, formerly, identities, mac, mayBeOld } = options;
    signal?.throwIfAborted();
    if (mac !== undefined) {
      const alike = await this.#search(domain, `${macLabelName}=${macLabel(mac)},${heldSelector}`, signal, mayBeOld);
      return alike.filter((hold) => hold.note?.mac === mac);
    }
    if (identities !== undefined) {
      const hashes = identities.map((each) => hashLabel(each)).join(",");
      const alike = await this.#search(domain, `${identityLabelName} in (${hashes}),${heldSelector}`, signal);
      return alike.filter((hold) => identities.includes(hold.note?.identity ?? ""));
    }
    const keys = formerly === undefined ? [owner] : [owner, formerly];
    const selector = `${ownerLabelName} in (${keys.map(ownerLabel).join(",")}),${heldSelector}`;
    const found = await this.#search(domain, selector, signal);
    return found.filter((hold) => keys.includes(ownerKey(hold.owner)));
  }

  async *list(domain: Domain, { signal }: LedgerOptions = {}): AsyncIterable<Hold> {
    signal?.throwIfAborted();
    yield* await this.#search(domain, heldSelector, signal);
  }

  async #take(records: Records, request: TakeRequest, options: TakeOptions, keep = false): Promise<TakeOutcome> {
    const { signal, mayTake } = options;
    const { resource } = records;
    const { address, owner } = request;
    const make = ({ note, users }: Pick<TakeRequest, "note" | "users">) => {
      const hold = { address, owner, ...(note && { note }), ...(users && { users }) };
      const made = records.make(hold, this.#options.node);
      return keep ? withFinalizer(made) : made;
    };
    for (let tries = 1; tries <= triesMax; tries++) {
      const post = () => {
        mayTake?.();
        return this.#options.client.create(resource, make(request), { signal });
      };
      const create = this.#call(post, signal);
      const created = await unless(["already-exists"], create);
      if (created !== undefined) return { outcome: "taken", hold: this.#read(records, request, created) };
      const met = await this.#meet(records, address, records.nameOf(address), signal);
      if (met === undefined) continue;
      const step = judgeTake(met, request, this.#options.now());
      // A hold from before whereabouts came has no finalizer yet.
      const isDone = step.kind === "answer" && !(step.answer.outcome === "yours" && keep && !isKept(met.object));
      if (isDone) return step.answer;
      if (step.kind === "wait") throw beingDeleted(request, met.object);
      const outcome = step.kind === "write" ? step.outcome : "yours";
      const { note, users }: Partial<Hold> = outcome === "yours" ? met.hold : {};
      const next = make({ ...request, ...(note && !request.note && { note }), ...(users && { users }) });
      const object = await this.#update(records, rewritten(met.object, next), signal, mayTake);
      if (object !== undefined) return { outcome, hold: this.#read(records, request, object) };
    }
    throw contended(request);
  }

  /** While whereabouts is active: if a part beside the hold cannot be had, all of it is undone. */
  async #takeBeside(records: Records, request: TakeRequest, what: string, options: TakeOptions): Promise<TakeOutcome> {
    const { client } = this.#options;
    const { signal } = options;
    const claim = await this.#call(() => reading(prepareBeside(client, records, request, signal)), signal);
    const result = await this.#take(records, request, options, keepsBeside(records));
    if (result.outcome !== "taken" && result.outcome !== "yours") return result;
    try {
      const other = await this.#call(() => claim(result.hold), signal);
      if (other === undefined) return result;
      const object = this.#recent.get(result.hold.version);
      if (object !== undefined) await removeObject(client, records.resource, object, signal);
      return { outcome: "held", hold: other };
    } catch (error) {
      throw ledgerError(error, what, true);
    }
  }

  /** By the remembered hold, else the present one; again where the write finds it changed or gone. */
  async #change<T>(
    records: Records,
    request: ReleaseRequest | AmendRequest,
    signal: Signal,
    write: (met: Found) => Promise<T | undefined>,
  ): Promise<T | NonNullable<ReturnType<typeof judgeWrite>>> {
    const { address } = request;
    const isRelease = "cooldownMs" in request;
    for (let tries = 1; tries <= triesMax; tries++) {
      // Only for a write, which the server judges again: any other answer is about what is there now.
      const object = tries === 1 ? this.#recent.get(request.version ?? "") : undefined;
      const known = object && asMet(records, address, object);
      const mayCount = known !== undefined && (isRelease || known.leaving !== true);
      const isSure = mayCount && judgeWrite(known, request) === undefined;
      const find = () => this.#meet(records, address, records.nameOf(address), signal);
      const met = isSure ? known : await (isRelease ? this.#meetAny(records, request, signal) : find());
      if (met === undefined) return { outcome: "gone" };
      const done = judgeWrite(met, request) ?? (await write(met));
      if (done !== undefined) return done;
    }
    throw contended(request);
  }

  /** While whereabouts is active, what stands beside the hold follows its owner: a release looks for it by that. */
  async #tellUpstream(records: Records, hold: Hold, signal: Signal): Promise<void> {
    if (!this.#isBeside) return;
    const { client } = this.#options;
    const request = { ...hold, loose: hold.note?.pool === undefined };
    const claim = await this.#call(() => reading(prepareBeside(client, records, request, signal)), signal);
    await this.#call(() => claim(hold), signal);
  }

  /** One guarded write. False: it has changed since, or is gone. */
  async #free(records: Records, request: ReleaseRequest, object: HeldObject, signal: Signal): Promise<boolean> {
    const { client, now } = this.#options;
    if (request.cooldownMs <= 0) {
      return (await this.#call(() => removeObject(client, records.resource, object, signal), signal)) === "removed";
    }
    const { metadata } = object;
    const rest = restingMarks(metadata, { untilMs: now() + request.cooldownMs, lastOwner: request.owner });
    return (await this.#update(records, { ...object, metadata: { ...metadata, ...rest } }, signal)) !== undefined;
  }

  /** Undefined: it has changed since, or is gone. */
  async #update(
    { resource }: Records,
    object: HeldObject,
    signal: Signal,
    mayWrite?: () => void,
  ): Promise<HeldObject | undefined> {
    const put = () => {
      mayWrite?.();
      return this.#options.client.update(resource, object, { signal });
    };
    const update = this.#call(put, signal);
    return unless(["conflict", "not-found"], update);
  }

  /** Under the name that is written, or under whereabouts' own. */
  async #meetAny(records: Records, { address }: HoldKey, signal: Signal): Promise<Found | undefined> {
    const found = await this.#meet(records, address, records.nameOf(address), signal);
    const former = found === undefined ? records.formerNameOf(address) : undefined;
    const older = former === undefined ? undefined : await this.#meet(records, address, former, signal);
    return found ?? (older === undefined || isAlias(older.object) ? undefined : older);
  }

  async #meet(records: Records, address: Address, name: string, signal: Signal): Promise<Found | undefined> {
    const object = await this.#call(() => reading(readObject(this.#options.client, records, name, signal)), signal);
    if (object === undefined) return undefined;
    const met = asMet(records, address, object);
    if (met.cooling === undefined) this.#keep(met.hold.version, object);
    return met;
  }

  #read(records: Records, { address }: Pick<TakeRequest, "address">, object: HeldObject): Hold {
    const hold = readRecord(records, address, object);
    this.#keep(hold.version, object);
    return hold;
  }

  #keep(version: string, object: HeldObject): void {
    // Nobody reads them here, and they are half of the object.
    const { managedFields: _, ...metadata } = object.metadata;
    this.#recent.set(version, { ...object, metadata });
  }

  /** An address under two names counts once, by today's name. */
  #search(domain: Domain, labelSelector: string, signal: Signal, mayBeOld = false): Promise<Hold[]> {
    return this.#named(`listing ${describeDomain(domain)}`, domain, async (records) => {
      /** address -> its hold */
      const found = new Map<string, Hold>();
      const item = (object: HeldObject) => {
        for (const hold of holdsIn(records, object)) {
          const key = hold.address.toString();
          if (!found.has(key) || object.metadata.name === records.nameOf(hold.address)) found.set(key, hold);
        }
      };
      const { resource, namespace } = records;
      const options = { namespace, labelSelector, signal, ...(mayBeOld && { resourceVersion: "0" }) };
      const restart = () => found.clear();
      await this.#call(() => {
        restart();
        return reading(this.#options.client.listEach(resource, options, { item, restart }));
      }, signal);
      return [...found.values()];
    });
  }

  #call<T>(call: () => Promise<T>, signal: Signal): Promise<T> {
    return patiently(call, this.#options, signal);
  }

  async #named<T>(what: string, domain: Domain, work: (records: Records) => Promise<T>): Promise<T> {
    try {
      return await work(recordsOf(domain, this.#options.namespace));
    } catch (error) {
      throw ledgerError(error, what);
    }
  }
}

function asMet(records: Records, address: Address, object: HeldObject): Found {
  const hold = readRecord(records, address, object);
  return { hold, cooling: coolingOf(object.metadata), leaving: isLeaving(object), object };
}

function beingDeleted({ address, domain }: HoldKey, { kind, metadata }: HeldObject): LedgerError {
  const { namespace, name, finalizers = [] } = metadata;
  const what = `${kind} ${namespace}/${name}, which holds ${address} in ${describeDomain(domain)}, is being deleted`;
  const awaited = finalizers.join(", ") || "the API server";
  return new LedgerError("unavailable", `${what} and waits for ${awaited}. Remove the finalizer, or try again.`);
}

function contended({ address, domain }: HoldKey): LedgerError {
  const what = `${address} in ${describeDomain(domain)} changed hands ${triesMax} times in a row`;
  return new LedgerError("unavailable", `${what} between a read and a write. Try again.`);
}
