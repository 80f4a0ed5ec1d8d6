// The ledger of a node's slices: a journal on the node's disk (docs/decisions/0013). No API server is asked. Promised:
// a take is decided at once in memory, so no two get one address, and answered when it is on the disk, so no crash
// gives it again; an answered release does not come back; a journal that may lack a take hands nothing out until
// `trusted`. Synchronous readers (get, holds, holdsOf, ofAttachment, blocksOf) show decisions, which may not be on the
// disk yet and are undone if it refuses. Not promised: anything about a disk that loses what it said is durable.
import type { Cooling } from "../../ipam/cooling.ts";
import { describeDomain, LedgerError } from "../../ipam/ledger.ts";
import type { Domain, FindOptions, Hold, Ledger, LedgerOptions } from "../../ipam/ledger.ts";
import type { ReleaseOutcome, ReleaseRequest, TakeOutcome, TakeRequest } from "../../ipam/ledger.ts";
import { describeOwner, type OwnerKey, sameOwner, unused } from "../../ipam/owner.ts";
import { orAborted } from "../../kube/abort.ts";
import { type Address, compare } from "../../net/address.ts";
import type { IntervalSet } from "../../net/interval-set.ts";
import { judgeTake, judgeWrite } from "../judgement.ts";
import { RestClock } from "./cooldown-clock.ts";
import { Ballast, ballastBytes } from "./disk-reserve.ts";
import { type JournalDisk, realJournalDisk } from "./disk.ts";
import { encodeFrame, payloadBytesMax } from "./frame.ts";
import type { JournalGrant } from "./grant.ts";
import { type Opened, openFolder } from "./opening.ts";
import { encodeRecord, type JournalRecord, placeOf } from "./record.ts";
import type { LogPlace, Snapshot } from "./rewrite.ts";
import type { State } from "./state.ts";
import { slackLines as defaultSlackLines, Writer } from "./writer.ts";

export interface JournalOptions {
  readonly folder: string;
  /** The wall clock, in milliseconds. */
  readonly now: () => number;
  readonly disk?: JournalDisk;
  readonly log?: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
  /** How much is kept aside for releases on a full disk. */
  readonly ballastBytes?: number;
  readonly slackLines?: number;
}

/** An authority of 12 hours ends three minutes early after a crash, at worst. */
const renewedEveryMs = 3 * 60_000;

export class Journal implements Ledger {
  /** Made with the file: another journal has another. */
  readonly id: string;
  /** Lines that could not be read when it was opened. */
  readonly damaged: number;
  readonly #folder: string;
  readonly #clock: RestClock;
  readonly #state: State;
  readonly #ballast: Ballast;
  readonly #writer: Writer;
  readonly #unlock: () => void;
  readonly #say: (words: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly #followers = new Set<(domain: Domain) => void>();
  /** Changes of one turn are told once. */
  #changed = new Set<Domain>();
  /** Holds up to this version are on the disk, or were taken back: versions grow in the order of the lines. */
  #durableVersion: number;
  #doubt: number;
  #isClosed = false;
  #renewedOnDiskMs: number | undefined;

  static async open(options: JournalOptions): Promise<Journal> {
    const { folder, now, disk = realJournalDisk } = options;
    const clock = new RestClock(now);
    const ballast = new Ballast(disk, folder, options.ballastBytes ?? ballastBytes, now);
    const place = { disk, folder, name: "journal.log", what: `the journal in ${folder}`, encode: encodeFrame };
    const opened = await openFolder({ place, clock, ballast });
    const { damaged } = opened;
    if (damaged > 0)
      options.log?.warn("the journal was damaged; what could not be read is in journal.damaged", { folder, damaged });
    return new Journal(options, { ...place, ...opened, ballast }, clock);
  }

  private constructor(
    { folder, log, slackLines = defaultSlackLines }: JournalOptions,
    opened: Opened & LogPlace & { readonly ballast: Ballast },
    clock: RestClock,
  ) {
    const { id, state } = opened;
    this.id = id;
    this.damaged = opened.damaged;
    this.#folder = folder;
    this.#clock = clock;
    this.#ballast = opened.ballast;
    this.#state = state;
    this.#doubt = opened.doubt;
    this.#unlock = opened.unlock;
    this.#renewedOnDiskMs = state.renewedMs;
    this.#durableVersion = state.versions;
    this.#say = (words, fields) => log?.warn(words, { folder, ...fields });
    const own = { say: this.#say, slackLines, live: () => state.size, snapshot: () => this.#snapshot() };
    this.#writer = new Writer({ ...opened, ...own });
  }

  /** Why an answered record may be missing, in a sentence: nothing is handed out until `trusted`. Empty: none is. */
  get suspect(): string {
    if (this.#doubt === 0) return "";
    return `the journal in ${this.#folder} was damaged, and its slices are to be compared with their IPPools first`;
  }

  /** Every grant was put again with what its mirror has: what is missing here is not missing there. */
  async trusted(): Promise<void> {
    if (this.#doubt === 0) return;
    const before = this.#doubt;
    this.#doubt = 0;
    try {
      await this.#writer.rewrite();
    } catch (error) {
      this.#doubt = before;
      throw error;
    }
  }

  async take(request: TakeRequest, { signal }: LedgerOptions = {}): Promise<TakeOutcome> {
    signal?.throwIfAborted();
    if (this.#ballast.isShort) await this.#ballast.retry();
    const { domain, address, owner } = request;
    const what = `taking ${address} in ${describeDomain(domain)} for ${describeOwner(owner)}`;
    this.#refuse(what, this.suspect);
    const hold = this.get(domain, address);
    if (hold === undefined && !this.blocksOf(domain).has(address))
      this.#refuse(what, "no slice that this node hands out of has it");
    // An address that has cooled is not met any more.
    const rest = this.#state.books.resting(domain, address, this.#clock.now());
    const cooling = rest && { ...rest, untilMs: this.#clock.toWall(rest.untilMs) };
    const step = judgeTake({ hold, cooling }, request, Number.NEGATIVE_INFINITY);
    if (step.kind !== "write") {
      await this.#settled(signal);
      return (step as { answer: TakeOutcome }).answer;
    }
    this.#refuse(what, this.#ballast.isShort ? `the disk of ${this.#folder} is full: free some of it` : "");
    const note = request.note ?? hold?.note;
    const written = this.#hold({ domain, address, owner, ...(note && { note }) });
    await this.#commit([{ op: "hold", hold: written }], signal, false);
    return { outcome: step.outcome, hold: written };
  }

  async release(request: ReleaseRequest, { signal }: LedgerOptions = {}): Promise<ReleaseOutcome> {
    signal?.throwIfAborted();
    const { domain, address, owner, cooldownMs, park = false } = request;
    this.#refuse(`releasing ${address} in ${describeDomain(domain)}`);
    const hold = this.get(domain, address);
    const answer = judgeWrite({ hold }, request);
    if (answer !== undefined || hold === undefined) {
      await this.#settled(signal);
      return answer ?? { outcome: "gone" };
    }
    if (park) {
      const parked = this.#hold({ ...hold, owner: unused(hold.owner) });
      await this.#commit([{ op: "hold", hold: parked }], signal);
      return { outcome: "parked", hold: parked };
    }
    const atMs = this.#clock.toWall(this.#clock.now());
    await this.#commit([{ op: "free", domain, address, atMs, cooldownMs, lastOwner: owner }], signal);
    return { outcome: "released" };
  }

  async find(domain: Domain, owner: OwnerKey, { signal, formerly }: FindOptions = {}): Promise<readonly Hold[]> {
    signal?.throwIfAborted();
    const keys = formerly === undefined || formerly === owner ? [owner] : [owner, formerly];
    const found = () => keys.flatMap((key) => this.#state.books.ofOwner(domain, key));
    if (found().some(({ version }) => Number(version) > this.#durableVersion)) await this.#settled(signal);
    return found().sort((a, b) => compare(a.address, b.address));
  }

  async *list(domain: Domain, { signal }: LedgerOptions = {}): AsyncIterable<Hold> {
    signal?.throwIfAborted();
    await this.#settled(signal);
    yield* [...this.holdsOf(domain)].sort((a, b) => compare(a.address, b.address));
  }

  grants(): readonly JournalGrant[] {
    return [...this.#state.grants.values()];
  }

  grant(key: string): JournalGrant | undefined {
    return this.#state.grants.get(key);
  }

  /** The latest generation of the pool of which a grant was dropped; 0: none, or what is missing here may be lost. */
  droppedOf(domain: Domain): number {
    return this.#doubt === 0 ? (this.#state.dropped.get(domain) ?? 0) : 0;
  }

  /** What may be handed out: active, unsealed grants less what they lack, gave up, have moved. Not to be changed. */
  blocksOf(domain: Domain): IntervalSet {
    return this.#state.usable(domain);
  }

  /** Wider, it is in force when this resolves; narrower, at once. Holds of the journal's own stay, unless in doubt. */
  async put(grant: JournalGrant, holds: readonly Hold[] = []): Promise<void> {
    this.#refuse(`putting the grant ${grant.key}`);
    // The journal is ahead of the mirror, but for holds that are in doubt: those may be another's by now.
    const missing = holds.filter(({ domain, address, owner }) => {
      const own = this.get(domain, address);
      return own === undefined || (Number(own.version) <= this.#doubt && !sameOwner(own.owner, owner));
    });
    const records: JournalRecord[] = missing.map((hold) => ({ op: "hold", hold: this.#hold(hold) }));
    // The grant comes last: a crash in between leaves holds without a grant, and the mirror is read again.
    await this.#commit([...records, { op: "grant", grant }]);
  }

  /** Forgets a grant. Holds inside stay until they are released. */
  async drop(key: string): Promise<void> {
    this.#refuse(`dropping the grant ${key}`);
    if (this.#state.grants.has(key)) await this.#commit([{ op: "drop", key }]);
    else await this.#settled();
  }

  /** The hold is the reservation ledger's from now on, which its grants note as moved. */
  async move(domain: Domain, address: Address): Promise<void> {
    this.#refuse(`moving ${address} in ${describeDomain(domain)}`);
    await this.#commit([{ op: "move", domain, address }]);
  }

  *holds(): Iterable<Hold> {
    for (const domain of this.#state.books.domains()) yield* this.#state.books.of(domain);
  }

  holdsOf(domain: Domain): Iterable<Hold> {
    return this.#state.books.of(domain);
  }

  get(domain: Domain, address: Address): Hold | undefined {
    return this.#state.books.get(domain, address);
  }

  ofAttachment({ containerId, interfaceName }: { containerId: string; interfaceName: string }): Hold[] {
    const holds = this.#state.books.ofContainer(containerId);
    return holds.filter(({ owner }) => owner.kind === "pod" && owner.interface === interfaceName);
  }

  /** Cooling addresses, by the wall clock. */
  *coolingOf(domain: Domain): Iterable<Cooling> {
    for (const rest of this.#state.books.rests(domain, this.#clock.now())) {
      yield { address: rest.address, untilMs: this.#clock.toWall(rest.untilMs), lastOwner: rest.lastOwner };
    }
  }

  /** The last renewal of the node's Lease, by the wall clock; after a start up to three minutes too early. */
  get renewedMs(): number | undefined {
    return this.#state.renewedMs;
  }

  async renewed(wallMs: number): Promise<void> {
    this.#state.renewedMs = wallMs;
    const known = this.#renewedOnDiskMs;
    if (known !== undefined && Math.abs(wallMs - known) < renewedEveryMs) return;
    this.#refuse("noting a renewal");
    await this.#commit([{ op: "renewed", wallMs }]);
    this.#renewedOnDiskMs = wallMs;
  }

  /** What was decided so far is on the disk; throws LedgerError where that cannot be said. */
  async settled(signal?: AbortSignal): Promise<void> {
    this.#refuse("waiting for the disk");
    await this.#settled(signal);
  }

  /** Called after a durable change of a domain's holds or grants, once for what became durable together. */
  follow(listener: (domain: Domain) => void): () => void {
    this.#followers.add(listener);
    return () => void this.#followers.delete(listener);
  }

  get stats(): Writer["stats"] {
    return this.#writer.stats;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#writer.close();
    this.#unlock();
  }

  /** Throws where the journal is closed, or `why` says something. */
  #refuse(what: string, why = ""): void {
    const words = this.#isClosed ? `the journal in ${this.#folder} is closed` : why;
    if (words !== "") throw new LedgerError("unavailable", `${what}: ${words}.`);
  }

  #hold(hold: Omit<Hold, "version">): Hold {
    this.#state.versions += 1;
    return { ...hold, version: String(this.#state.versions) };
  }

  /** In force in memory when it has returned its promise, and on the disk when that resolves. Then followers hear. */
  async #commit(records: readonly JournalRecord[], signal?: AbortSignal, isUrgent = true): Promise<void> {
    const payloads = records.map(encodeRecord);
    const long = payloads.filter(({ length }) => length > payloadBytesMax / 4);
    if (long.some((payload) => Buffer.byteLength(payload) > payloadBytesMax)) {
      throw new LedgerError("unavailable", `a record has more than ${payloadBytesMax} bytes, and was not written.`);
    }
    const state = this.#state;
    const domains = new Set(records.flatMap((record) => this.#domainOf(record) ?? []));
    const undos = records.map((record) => state.applyWithUndo(record));
    const changesGrants = records.some(({ op }) => op === "grant" || op === "drop" || op === "move");
    const grants = changesGrants ? state.grantsNow() : undefined;
    const { versions } = state;
    const undo = () => {
      for (const each of undos.reverse()) each();
      this.#tell(domains);
    };
    const settle = () => {
      if (grants !== undefined) state.settle(grants);
      this.#durable(versions, domains);
    };
    await unlessAborted(this.#writer.commit({ payloads, isUrgent, undo, settle }), signal);
  }

  /** What was decided so far is on the disk: an answer that rests on it may be given. */
  async #settled(signal?: AbortSignal): Promise<void> {
    if (!this.#writer.isSettled) await unlessAborted(this.#writer.commit({ isUrgent: false }), signal);
  }

  /** It has records that no entry of its own answers for: those written when an fsync failed. */
  #snapshot(): Snapshot {
    const taken = this.#state.snapshot(this.id, this.#doubt);
    const { versions } = this.#state;
    const settle = () => {
      taken.settle();
      this.#durable(versions, this.#state.books.domains());
    };
    return { ...taken, settle };
  }

  #durable(versions: number, domains: Iterable<Domain>): void {
    this.#durableVersion = Math.max(this.#durableVersion, versions);
    this.#tell(domains);
  }

  #domainOf(record: JournalRecord): Domain | undefined {
    if (record.op === "grant") return record.grant.domain;
    const dropped = record.op === "drop" ? this.#state.grants.get(record.key) : undefined;
    return (placeOf(record) ?? dropped)?.domain;
  }

  #tell(domains: Iterable<Domain>): void {
    for (const domain of domains) {
      if (this.#changed.size === 0) queueMicrotask(() => this.#flush());
      this.#changed.add(domain);
    }
  }

  #flush(): void {
    const changed = this.#changed;
    this.#changed = new Set();
    for (const domain of changed) {
      for (const follower of this.#followers) {
        try {
          follower(domain);
        } catch (error) {
          this.#say("a follower failed", { error }); // and harms nobody else
        }
      }
    }
  }
}

/** An abort ends the request; its records go on to the disk. */
function unlessAborted(committed: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  return signal === undefined ? committed : orAborted(committed, signal);
}
