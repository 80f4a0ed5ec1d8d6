// Carries records out: in memory at once, then on the disk, then followers are told. Knows what is on the disk already.
import { type Domain, type Hold, LedgerError } from "../../ipam/ledger.ts";
import { orAborted } from "../../kube/abort.ts";
import { payloadBytesMax } from "./frame.ts";
import { encodeRecord, type JournalRecord, placeOf } from "./record.ts";
import type { Snapshot } from "./rewrite.ts";
import type { State } from "./state.ts";
import { Writer, type WriterOptions } from "./writer.ts";

type Listener = (domain: Domain) => void;

export class Commits {
  readonly writer: Writer;
  readonly #state: State;
  readonly #say: WriterOptions["say"];
  readonly #listeners = new Set<Listener>();
  /** Changes of one turn are told once. */
  #changed = new Set<Domain>();
  /** Holds up to this version are on the disk, or were taken back: versions grow in the order of the lines. */
  #durableVersion: number;

  constructor(state: State, snapshot: () => Snapshot, options: Omit<WriterOptions, "snapshot" | "live">) {
    this.#state = state;
    this.#say = options.say;
    this.#durableVersion = state.versions;
    this.writer = new Writer({ ...options, live: () => state.size, snapshot: () => this.#observed(snapshot()) });
  }

  follow(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  isDurable(hold: Hold): boolean {
    return Number(hold.version) <= this.#durableVersion;
  }

  /** In force in memory when it has returned its promise, and on the disk when that resolves. */
  async commit(records: readonly JournalRecord[], signal?: AbortSignal, isUrgent = true): Promise<void> {
    const payloads = records.map(encodeRecord);
    const long = payloads.filter(({ length }) => length > payloadBytesMax / 4);
    if (long.some((payload) => Buffer.byteLength(payload) > payloadBytesMax)) {
      throw new LedgerError("unavailable", `a record has more than ${payloadBytesMax} bytes, and was not written.`);
    }
    const domains = new Set(records.flatMap((record) => this.#domainsOf(record)));
    const undos = records.map((record) => this.#state.applyWithUndo(record));
    const changesGrants = records.some(({ op }) => op === "grant" || op === "drop" || op === "move");
    const grants = changesGrants ? this.#state.grantsNow() : undefined;
    const { versions } = this.#state;
    const undo = () => {
      for (const each of undos.reverse()) each();
      this.#tell(domains);
    };
    const settle = () => {
      if (grants !== undefined) this.#state.settle(grants);
      this.#durable(versions, domains);
    };
    await unlessAborted(this.writer.commit({ payloads, isUrgent, undo, settle }), signal);
  }

  /** What was decided so far is on the disk: an answer that rests on it may be given. */
  async settled(signal?: AbortSignal): Promise<void> {
    if (!this.writer.isSettled) await unlessAborted(this.writer.commit({ isUrgent: false }), signal);
  }

  /** A snapshot has records that no entry of its own answers for: those written when an fsync failed. */
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
    this.#tell(domains);
  }

  #domainsOf(record: JournalRecord): Domain[] {
    const dropped = record.op === "drop" ? this.#state.grants.get(record.key) : undefined;
    const domain = (record.op === "grant" ? record.grant : (placeOf(record) ?? dropped))?.domain;
    return domain === undefined ? [] : [domain];
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
      for (const listener of this.#listeners) {
        try {
          listener(domain);
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
