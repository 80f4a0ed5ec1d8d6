// A client of one database: follows tables over connections that come and go, and sends transactions.
//
// Promised: the cache has whole transactions only, also while disconnected (old then: `status` says so); after a
// transaction's reply the cache has what it changed; nothing is sent to a server that is not fit. A transaction whose
// reply was lost is `outcome-unknown` and is never repeated here (operations/write-once.ts does, behind a guard).
// Not promised: that a batch is one transaction (a server may join several), or that every value in between is seen.
import type { Batch } from "../cache/batch.ts";
import { DatabaseCache } from "../cache/database-cache.ts";
import type { AnyRow, Followed } from "../cache/followed.ts";
import type { Rows } from "../cache/table-cache.ts";
import { sleep } from "../clock.ts";
import { asError, OvsdbError } from "../error.ts";
import type { Operation } from "../operations/operation.ts";
import type { OperationResult } from "../operations/result.ts";
import { type Dial, dialer } from "../rpc/dial.ts";
import { type Endpoint, parseEndpoints, printEndpoint } from "../rpc/endpoint.ts";
import { Backoff } from "./backoff.ts";
import { type ClientOptions, type ClientStatus, defaults, type TransactOptions } from "./options.ts";
import type { ServerWishes } from "./server-database.ts";
import { Session } from "./session.ts";
import { transactOn } from "./transact.ts";
import { Waiters } from "./waiters.ts";

/** A session that has lasted this long was a good one: the next pause is short again. */
const healthyMs = 10_000;
const defaultTimeoutMs = 30_000;

export class OvsdbClient {
  readonly #options: ClientOptions & typeof defaults;
  readonly #endpoints: readonly Endpoint[];
  readonly #cache: DatabaseCache;
  readonly #dial: Dial;
  readonly #backoff: Backoff;
  readonly #handlers = new Set<(batch: Batch) => void>();
  readonly #waiters = new Waiters();
  #session: Session | undefined;
  #hasSynced = false;
  #seen: ServerWishes["seen"];
  #lastError: Error | undefined;

  constructor(options: ClientOptions) {
    this.#options = { ...defaults, ...options };
    const { firstBackoffMs, maxBackoffMs, random } = this.#options;
    this.#endpoints = parseEndpoints(options.endpoints);
    this.#cache = new DatabaseCache(options.followed, (error) => this.#report(error));
    this.#dial = options.dial ?? dialer(options.tls);
    this.#backoff = new Backoff({ firstMs: firstBackoffMs, maxMs: maxBackoffMs, random });
  }

  /** The cached rows of a table. They are as old as `status` says. */
  rows<R extends AnyRow, Index extends string>(followed: Followed<R, Index>): Rows<R, Index> {
    return this.#cache.rows(followed);
  }

  get status(): ClientStatus {
    const session = this.#session;
    if (session === undefined) return { kind: "disconnected" };
    return { kind: "connected", endpoint: printEndpoint(session.endpoint), resumed: session.isResumed };
  }

  /** The cache has been filled once. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** What keeps it from a connection, for those who wait. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /** Whether the server at hand has the column; undefined without a connection. */
  hasColumn(table: string, column: string): boolean | undefined {
    if (this.#session === undefined) return undefined;
    return this.#session.live.tables.get(table)?.has(column) ?? false;
  }

  /**
   * Called after the cache has changed, with all that one message of the server changed. One that comes late is told of
   * nothing: it reads the cache first. The returned function takes it away.
   */
  handle(handler: (batch: Batch) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /** Follows the database until the signal ends it: one endpoint after the other, with a pause after each round. */
  async run(signal: AbortSignal): Promise<void> {
    for (let at = 0; !signal.aborted; at++) {
      const wasReady = await this.#follow(this.#endpoints[at % this.#endpoints.length]!, signal);
      const isRound = (at + 1) % this.#endpoints.length === 0;
      if (wasReady || isRound) await sleep(this.#options.clock, this.#backoff.nextMs(), signal);
    }
  }

  /** Sends the operations as one transaction; `unreachable` where no server was fit in time. */
  async transact(
    operations: readonly Operation[],
    { signal: caller, timeoutMs = defaultTimeoutMs }: TransactOptions = {},
  ): Promise<readonly OperationResult[]> {
    const deadline = new AbortController();
    const cancel = this.#options.clock.after(timeoutMs, () => deadline.abort());
    const signal = caller === undefined ? deadline.signal : AbortSignal.any([deadline.signal, caller]);
    const usable = () => (this.#session?.isUsable === true ? this.#session : undefined);
    const notSent = () => {
      const [code, why] =
        caller?.aborted === true
          ? (["aborted", "it was called off"] as const)
          : ([
              "unreachable",
              `no server was fit for ${timeoutMs} ms; ${this.#lastError?.message ?? "none answered"}`,
            ] as const);
      return new OvsdbError(code, `The transaction was not sent: ${why}`, { cause: this.#lastError });
    };
    try {
      const { connection } = await this.#waiters.until(usable, signal, notSent);
      return await transactOn(connection, this.#options.database.name, operations, signal);
    } finally {
      cancel();
    }
  }

  /** What `look` finds, as soon as it finds something: it is called now, and after every change of the cache. */
  async until<T>(look: () => T | undefined, signal: AbortSignal): Promise<T> {
    const calledOff = () => new OvsdbError("aborted", "The wait for a change of the cache was called off.");
    return await this.#waiters.until(look, signal, calledOff);
  }

  /** True if there was a session; it has ended then. */
  async #follow(endpoint: Endpoint, signal: AbortSignal): Promise<boolean> {
    const { clock, openTimeoutMs, leaderOnly, clusterId } = this.#options;
    const opening = new AbortController();
    const cancel = clock.after(openTimeoutMs, () => opening.abort());
    const options = {
      ...this.#options,
      dial: this.#dial,
      cache: this.#cache,
      wishes: { leaderOnly, clusterId, seen: this.#seen },
      onBatch: (batch: Batch) => this.#told(batch),
    };
    try {
      const session = await Session.open(endpoint, options, AbortSignal.any([opening.signal, signal]));
      cancel();
      await this.#hold(session, signal);
      return true;
    } catch (error) {
      cancel();
      if (!signal.aborted) this.#report(error);
      return false;
    }
  }

  async #hold(session: Session, signal: AbortSignal): Promise<void> {
    const { connection } = session;
    const onAbort = () => connection.close("the client stops");
    const cancelReset = this.#options.clock.after(healthyMs, () => this.#backoff.reset());
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    this.#session = session;
    this.#lastError = undefined;
    this.#options.onStatus?.(this.status);
    this.#waiters.wake();
    const end = await connection.ended;
    cancelReset();
    signal.removeEventListener("abort", onAbort);
    this.#session = undefined;
    this.#seen = session.seen ?? this.#seen;
    this.#options.onStatus?.(this.status);
    if (!signal.aborted) this.#report(end);
  }

  #told(batch: Batch): void {
    this.#hasSynced = true;
    for (const handler of Array.from(this.#handlers)) {
      try {
        handler(batch);
      } catch (error) {
        this.#report(error);
      }
    }
    this.#waiters.wake();
  }

  #report(error: unknown): void {
    this.#lastError = asError(error);
    this.#options.onError?.(this.#lastError);
  }
}
