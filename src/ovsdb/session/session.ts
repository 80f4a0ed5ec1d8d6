// One connection to one server, from the dial to the end: is it fit, does its schema fit, what has changed.
import type { Batch } from "../cache/batch.ts";
import { DatabaseCache } from "../cache/database-cache.ts";
import type { Followed } from "../cache/followed.ts";
import type { Clock } from "../clock.ts";
import { asError, OvsdbError } from "../error.ts";
import type { DatabaseShape } from "../notation/shape.ts";
import { Connection } from "../rpc/connection.ts";
import type { Dial } from "../rpc/dial.ts";
import { type Endpoint, printEndpoint } from "../rpc/endpoint.ts";
import { type LiveSchema, parseSchema } from "../schema/live-schema.ts";
import { checkSchema } from "../schema/need.ts";
import { Monitor } from "./monitor.ts";
import { databaseRows, faultOfServer, serverDatabase, type ServerWishes } from "./server-database.ts";

export interface SessionOptions {
  readonly database: DatabaseShape;
  readonly followed: readonly Followed[];
  readonly cache: DatabaseCache;
  readonly dial: Dial;
  readonly clock: Clock;
  readonly probeIntervalMs: number;
  readonly maxMessageBytes: number;
  readonly wishes: ServerWishes;
  readonly onBatch: (batch: Batch) => void;
}

/** How long a server that lost its leadership has to reply to what it was asked before. */
const drainMs = 1000;

export class Session {
  readonly endpoint: Endpoint;
  readonly connection: Connection;
  readonly #options: SessionOptions;
  readonly #monitors: Monitor[] = [];
  readonly #server: DatabaseCache;
  #live: LiveSchema | undefined;
  #isResumed = false;
  #isReady = false;
  #tellsOfItself = false;
  /** It is to end: nothing new is sent. */
  #isDraining = false;

  private constructor(endpoint: Endpoint, options: SessionOptions, open: (session: Session) => Connection) {
    this.endpoint = endpoint;
    this.#options = options;
    this.#server = new DatabaseCache([databaseRows], () => {});
    this.connection = open(this);
  }

  /** Ready: the cache is what the server has. The signal ends the way there, and after that nothing. */
  static async open(endpoint: Endpoint, options: SessionOptions, signal: AbortSignal): Promise<Session> {
    const stream = await options.dial(endpoint, signal);
    const session = new Session(
      endpoint,
      options,
      (self) =>
        new Connection(stream, { ...options, onNotification: (method, params) => self.#notified(method, params) }),
    );
    const onAbort = () => session.connection.close("it was not ready in time");
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await session.#prepare();
      return session;
    } catch (error) {
      session.connection.close(asError(error).message);
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  get isResumed(): boolean {
    return this.#isResumed;
  }

  get live(): LiveSchema {
    return this.#live!;
  }

  /** New requests may be sent. */
  get isUsable(): boolean {
    return !this.#isDraining && !this.connection.hasEnded;
  }

  /** The newest log entry that the server told of. */
  get seen(): ServerWishes["seen"] {
    const { cid, index } = this.#serverRow() ?? {};
    return index === undefined ? undefined : { clusterId: cid, index };
  }

  async #prepare(): Promise<void> {
    const { database, followed, cache, onBatch } = this.#options;
    const databases = await this.connection.request("list_dbs", []).reply;
    const has = (name: string) => Array.isArray(databases) && databases.includes(name);
    if (!has(database.name)) throw this.#unusable("it does not have the database");
    this.#tellsOfItself = has(serverDatabase.name);
    if (this.#tellsOfItself) await this.#watchServer();
    this.#live = await this.#schemaOf(database.name);
    checkSchema(database, followed, this.#live);
    const monitor = new Monitor({ database: database.name, followed, live: this.#live, cache, onBatch });
    this.#monitors.push(monitor);
    this.#isResumed = await monitor.start(this.connection);
    this.#isReady = true;
    this.#judge();
  }

  async #watchServer(): Promise<void> {
    const live = await this.#schemaOf(serverDatabase.name);
    const followed = [databaseRows];
    checkSchema(serverDatabase, followed, live);
    const monitor = new Monitor({
      database: serverDatabase.name,
      followed,
      live,
      cache: this.#server,
      onBatch: () => this.#judge(),
    });
    this.#monitors.push(monitor);
    await monitor.start(this.connection);
    const fault = faultOfServer(this.#serverRow(), this.#options.wishes);
    if (fault !== undefined) throw this.#unusable(fault);
  }

  async #schemaOf(database: string): Promise<LiveSchema> {
    return parseSchema(await this.connection.request("get_schema", [database]).reply);
  }

  #serverRow() {
    return this.#server.rows(databaseRows).by("name", this.#options.database.name)[0];
  }

  /** The server tells of itself again: a leader that is none any more answers what it was asked, and is left. */
  #judge(): void {
    if (!this.#isReady || !this.#tellsOfItself || this.#isDraining) return;
    const fault = faultOfServer(this.#serverRow(), { ...this.#options.wishes, seen: undefined });
    if (fault === undefined) return;
    this.#isDraining = true;
    const leave = () => this.connection.close(this.#unusable(fault).message);
    if (!this.connection.hasPending) leave();
    else void this.connection.ended.then(this.#options.clock.after(drainMs, leave));
  }

  #notified(method: string, params: readonly unknown[]): void {
    if (method === "monitor_canceled") throw new OvsdbError("disconnected", "The server took the database away.");
    this.#monitors.some((monitor) => monitor.handle(method, params));
  }

  #unusable(fault: string): OvsdbError {
    const { name } = this.#options.database;
    return new OvsdbError("unusable-server", `${printEndpoint(this.endpoint)} is not used for ${name}: ${fault}.`);
  }
}
