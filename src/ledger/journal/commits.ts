// Carries records out: in memory at once, then on the disk, then those who follow are told. And knows what is on the disk already.
import { type Domain, type Hold, LedgerError } from "../../ipam/ledger.ts";
import { orAborted } from "../../kube/abort.ts";
import { payloadBytesMax } from "./frame.ts";
import { encodeRecord, type JournalRecord, placeOf } from "./record.ts";
import type { Snapshot } from "./rewrite.ts";
import type { State } from "./state.ts";
import type { Writer } from "./writer.ts";

export class Commits {
  readonly #state: State;
  readonly writer: Writer;
  readonly #followers: Followers;
  /** Holds up to this version are on the disk, or were taken back: versions grow in the order of the lines. */
  #durableVersion: number;

  constructor(
    state: State,
    onFollowerError: (error: unknown) => void,
    makeWriter: (snapshot: (taken: Snapshot) => Snapshot) => Writer,
  ) {
    this.#state = state;
    this.#followers = new Followers(onFollowerError);
    this.#durableVersion = state.versions;
    this.writer = makeWriter((taken) => this.#observed(taken));
  }

  follow(listener: Listener): () => void {
    return this.#followers.add(listener);
  }

  isDurable(hold: Hold): boolean {
    return Number(hold.version) <= this.#durableVersion;
  }

  /** In force in memory when it has returned its promise, and on the disk when that resolves. */
  async commit(records: readonly JournalRecord[], signal?: AbortSignal, isUrgent = true): Promise<void> {
    const payloads = records.map(encodeRecord);
    if (payloads.some(isTooLong)) {
      throw new LedgerError("unavailable", `a record has more than ${payloadBytesMax} bytes, and was not written.`);
    }
    const domains = new Set(records.flatMap((record) => this.#domainsOf(record)));
    const undos = records.map((record) => this.#state.applyWithUndo(record));
    const changesGrants = records.some(({ op }) => op === "grant" || op === "drop" || op === "move");
    const grants = changesGrants ? this.#state.grantsNow() : undefined;
    const { versions } = this.#state;
    const undo = () => {
      for (const each of undos.reverse()) each();
      for (const domain of domains) this.#followers.tell(domain);
    };
    const settle = () => {
      if (grants !== undefined) this.#state.settle(grants);
      this.#durable(versions, domains);
    };
    await unlessAborted(this.writer.commit({ payloads, isUrgent, undo, settle }), signal);
  }

  /** What was decided so far is on the disk: an answer that rests on it may be given. */
  async settled(signal?: AbortSignal): Promise<void> {
    if (this.writer.isSettled) return;
    await unlessAborted(this.writer.commit({ isUrgent: false }), signal);
  }

  /** A snapshot has what no entry of its own answers for: what was written when an fsync failed. */
  #observed(taken: Snapshot): Snapshot {
    const { versions } = this.#state;
    const settle = () => {
      taken.settle();
      this.#durable(versions, this.#state.books.domains());
    };
    return { ...taken, settle };
  }

  #durable(versions: number, domains: Iterable<Domain>): void {
    this.#durableVersion = Math.max(this.#durableVersion, versions);
    for (const domain of domains) this.#followers.tell(domain);
  }

  #domainsOf(record: JournalRecord): Domain[] {
    const dropped = record.op === "drop" ? this.#state.grants.get(record.key) : undefined;
    const domain = (record.op === "grant" ? record.grant : (placeOf(record) ?? dropped))?.domain;
    return domain === undefined ? [] : [domain];
  }
}

function isTooLong(payload: string): boolean {
  return payload.length > payloadBytesMax / 4 && Buffer.byteLength(payload) > payloadBytesMax;
}

/** Called off, the request ends; what was decided goes on to the disk. */
function unlessAborted(committed: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  return signal === undefined ? committed : orAborted(committed, signal);
}

type Listener = (domain: Domain) => void;

/** Who is told that a domain has changed. What changes in one turn is told once. */
class Followers {
  readonly #listeners = new Set<Listener>();
  #changed = new Set<Domain>();
  readonly #onError: (error: unknown) => void;

  /** A listener that throws harms nobody else. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(domain: Domain): void {
    if (this.#changed.size === 0) queueMicrotask(() => this.#flush());
    this.#changed.add(domain);
  }

  #flush(): void {
    const changed = this.#changed;
    this.#changed = new Set();
    for (const domain of changed) {
      for (const listener of this.#listeners) {
        try {
          listener(domain);
        } catch (error) {
          this.#onError(error);
        }
      }
    }
  }
}
