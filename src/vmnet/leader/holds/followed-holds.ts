// The holds of VM networks as the server has them: listed and watched, kept as rows, with none of the objects that they
// were read from. Promised: whoever follows is told of each change after it can be looked up here, and of what a new
// list shows at once, when all of it has come; a hold that cannot be read any more stays as it was. Not promised: that
// anybody is told of the first list: `replay` says it.
import type { Domain } from "../../../ipam/ledger.ts";
import { asError, orAborted } from "../../../kube/abort.ts";
import { Reflector, type ReflectorOptions, type ReflectorSink } from "../../../kube/cache/reflector.ts";
import type { KubeObject } from "../../../kube/meta.ts";
import type { Resource } from "../../../kube/resource.ts";
import { Turns } from "../../../kube/turns.ts";
import { type HeldObject, readHeld } from "../../../ledger/reservation/list-holds.ts";
import { type Address, parseAddress } from "../../../net/address.ts";
import { attempt } from "../../../net/coded-error.ts";
import { NetError } from "../../../net/error.ts";
import type { NicHold } from "../../plan/nic-hold.ts";
import { HoldRows } from "./hold-rows.ts";
import { versionNumber } from "./nic-holds.ts";

/** `hold` is undefined where there is none at the place any more. `version`: the resourceVersion of that word. */
export type ToldHold = (hold: NicHold | undefined, place: Pick<NicHold, "domain" | "address">, version: number) => void;

export class FollowedHolds<T extends KubeObject = HeldObject> {
  readonly resource: Resource<T>;
  readonly #options: ReflectorOptions<T>;
  readonly #rows = new HoldRows();
  readonly #followers = new Set<ToldHold>();
  readonly #synced = Promise.withResolvers<void>();
  #hasSynced = false;
  #lastError: Error | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.resource = options.resource;
    this.#options = options;
  }

  /** A whole list is here. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** What keeps it from syncing, for those who wait. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  async synced(signal: AbortSignal): Promise<void> {
    await orAborted(this.#synced.promise, signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    await new Reflector<T>({ ...this.#options, onError: (error) => this.#report(error) }, this.#sink()).run(signal);
  }

  at(domain: Domain, address: Address): NicHold | undefined {
    const row = this.#rows.find(domain, address);
    return row < 0 ? undefined : this.#rows.hold(row);
  }

  /** The returned function ends it. */
  follow(told: ToldHold): () => void {
    this.#followers.add(told);
    return () => this.#followers.delete(told);
  }

  /** Tells of everything that is here, in many turns of the event loop. Who follows already misses nothing. */
  async replay(told: ToldHold, signal: AbortSignal): Promise<void> {
    const turns = new Turns();
    for (const row of this.#rows.rows()) {
      const hold = this.#rows.hold(row);
      told(hold, hold, versionNumber(hold.version));
      if (turns.isDue()) await turns.next();
      if (signal.aborted) return;
    }
  }

  #sink(): ReflectorSink<T> {
    /** Rows that the list under way has named. */
    let named = new Set<number>();
    /** What it says that is not here: told when the list is whole, as one change. */
    let news: NicHold[] = [];
    return {
      relist: () => {
        named = new Set();
        news = [];
      },
      listed: (object) => {
        const hold = holdOf(object);
        const place = hold ?? placeOf(object);
        const row = place === undefined ? -1 : this.#rows.find(place.domain, place.address);
        if (row >= 0) named.add(row);
        if (hold === undefined) return;
        if (row >= 0 && this.#rows.versionOf(row) === hold.version) return;
        // Of the first list nobody has been told yet: no room is taken for it twice.
        if (this.#hasSynced) news.push(hold);
        else named.add(this.#rows.put(hold));
      },
      replaced: () => {
        for (const row of this.#rows.rows()) if (!named.has(row)) this.#gone(this.#rows.hold(row));
        for (const hold of news) this.#came(hold);
        named = new Set();
        news = [];
        this.#lastError = undefined;
        this.#hasSynced = true;
        this.#synced.resolve();
      },
      changed: (type, object) => {
        const hold = holdOf(object);
        if (hold === undefined) return;
        if (type === "DELETED") this.#gone(hold);
        else this.#came(hold);
      },
    };
  }

  #came(hold: NicHold): void {
    const row = this.#rows.find(hold.domain, hold.address);
    // A watch that resumes may tell again what the list has told.
    if (row >= 0 && this.#rows.versionOf(row) === hold.version) return;
    if (row >= 0 && uidOf(this.#rows.versionOf(row)) !== uidOf(hold.version)) this.#gone(this.#rows.hold(row));
    this.#rows.put(hold);
    this.#tell(hold, hold, hold.version);
  }

  #gone(last: NicHold): void {
    const row = this.#rows.find(last.domain, last.address);
    if (row < 0) return;
    this.#rows.delete(row);
    this.#tell(undefined, last, last.version);
  }

  #tell(hold: NicHold | undefined, place: NicHold, version: string): void {
    for (const told of Array.from(this.#followers)) {
      try {
        told(hold, place, versionNumber(version));
      } catch (error) {
        this.#report(asError(error));
      }
    }
  }

  #report(error: Error): void {
    this.#lastError = error;
    this.#options.onError?.(error);
  }
}

/** Undefined: it cannot be read, or is no NIC's. It keeps its address all the same: the ledger says so. */
function holdOf(object: KubeObject): NicHold | undefined {
  const [read] = readHeld(object as HeldObject);
  if (read === undefined || read.unreadable !== undefined || read.hold.owner.kind !== "nic") return undefined;
  return { ...(read.hold as NicHold), ...(read.cooling && { cooling: read.cooling }) };
}

/** Of one that cannot be read: what was known of its address stays, also when it is listed. */
function placeOf(object: KubeObject): Pick<NicHold, "domain" | "address"> | undefined {
  const { spec } = object as { readonly spec?: unknown };
  const { domain, address: text } = (spec ?? {}) as { readonly domain?: unknown; readonly address?: unknown };
  if (typeof domain !== "string" || typeof text !== "string") return undefined;
  const address = attempt(NetError, () => parseAddress(text));
  return address && { domain, address };
}

const uidOf = (version: string): string => version.slice(0, version.lastIndexOf("@"));
