// Following tables on one connection: the newest way that the server knows, and the older ones after it.
//
// One monitor has all tables: of two monitors each would tell its half of a transaction.
import type { Batch } from "../cache/batch.ts";
import type { DatabaseCache } from "../cache/database-cache.ts";
import type { Followed } from "../cache/followed.ts";
import { parseUpdates, type UpdateFormat } from "../cache/updates.ts";
import { isOvsdbError, OvsdbError } from "../error.ts";
import { isUuid, type Uuid, zeroUuid } from "../notation/uuid.ts";
import type { Connection } from "../rpc/connection.ts";
import type { LiveSchema } from "../schema/live-schema.ts";

type Method = "monitor_cond_since" | "monitor_cond" | "monitor";

/** Open vSwitch 2.12 and later; 2.6 and later; RFC 7047. */
const methods: readonly Method[] = ["monitor_cond_since", "monitor_cond", "monitor"];

export interface MonitorOptions {
  readonly database: string;
  readonly followed: readonly Followed[];
  readonly live: LiveSchema;
  readonly cache: DatabaseCache;
  readonly onBatch: (batch: Batch) => void;
}

/** A monitor on a connection. Hand it every notification of the connection, from before `start` on. */
export class Monitor {
  readonly #options: MonitorOptions;
  #method: Method | undefined;
  /** Notifications that came with the reply to `start`, before it was looked at: those of one chunk of the stream. */
  #early: (readonly [string, readonly unknown[]])[] = [];
  #isStarted = false;

  constructor(options: MonitorOptions) {
    this.#options = options;
  }

  /** Fills the cache, and calls `onBatch`. True: only what the cache did not have yet was sent. */
  async start(connection: Connection): Promise<boolean> {
    for (const method of methods) {
      try {
        const result = await this.#ask(connection, method);
        this.#method = method;
        return this.#begin(method, result);
      } catch (error) {
        const isLast = method === methods.at(-1);
        if (isLast || !isOvsdbError(error, "refused") || error.tag !== "unknown method") throw error;
      }
    }
    throw new TypeError("unreachable: the last method returns or throws");
  }

  /** False if the notification is another monitor's. */
  handle(method: string, params: readonly unknown[]): boolean {
    if (params[0] !== this.#options.database) return false;
    if (!this.#isStarted) this.#early.push([method, params]);
    else this.#update(method, params);
    return true;
  }

  #ask(connection: Connection, method: Method): Promise<unknown> {
    const { database, followed, live } = this.#options;
    const requests = Object.fromEntries(
      followed
        .filter(({ table }) => live.tables.has(table))
        .map(({ table, columns, optional }) => {
          const there = [...columns, ...optional].filter((column) => live.tables.get(table)!.has(column));
          return [table, [{ columns: there }]];
        }),
    );
    const since = method === "monitor_cond_since" ? [this.#options.cache.since ?? zeroUuid] : [];
    return connection.request(method, [database, database, requests, ...since]).reply;
  }

  #begin(method: Method, result: unknown): boolean {
    const { cache, live, onBatch } = this.#options;
    const [found, last, updates] =
      method === "monitor_cond_since" && Array.isArray(result) ? (result as unknown[]) : [false, undefined, result];
    const isResumed = found === true && cache.since !== undefined;
    const rows = parseUpdates(formatOf(method), updates);
    cache.useSchema(live);
    const batch = isResumed ? cache.update(rows, idOf(last), "resync") : cache.replace(rows, idOf(last));
    this.#isStarted = true;
    onBatch(batch);
    for (const [early, params] of this.#early.splice(0)) this.#update(early, params);
    return isResumed;
  }

  #update(method: string, params: readonly unknown[]): void {
    const last = method === "update3" ? params[1] : undefined;
    const isOurs = method === notifications[this.#method!];
    if (!isOurs) throw new OvsdbError("malformed", `The server sent ${method} to a monitor of ${this.#method}.`);
    const updates = parseUpdates(formatOf(this.#method!), params.at(-1));
    this.#options.onBatch(this.#options.cache.update(updates, idOf(last)));
  }
}

const notifications: Readonly<Record<Method, string>> = {
  monitor_cond_since: "update3",
  monitor_cond: "update2",
  monitor: "update",
};

/** A server that has no ids sends zero. */
const idOf = (last: unknown): Uuid | undefined => (isUuid(last) && last !== zeroUuid ? last : undefined);

const formatOf = (method: Method): UpdateFormat => (method === "monitor" ? 1 : 2);
