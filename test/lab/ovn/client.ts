// A client of one database of the lab, which follows its tables until it is closed.
import type { Followed } from "../../../src/ovsdb/cache/followed.ts";
import type { DatabaseShape } from "../../../src/ovsdb/notation/shape.ts";
import { OvsdbClient } from "../../../src/ovsdb/session/client.ts";

/** Ten times what a wait takes on two busy cores, the longest being a chassis that comes up. */
const patienceMs = 60_000;

export class LabClient {
  readonly ovsdb: OvsdbClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(database: DatabaseShape, endpoints: string, followed: readonly Followed[]) {
    this.ovsdb = new OvsdbClient({ database, endpoints, followed, firstBackoffMs: 20, maxBackoffMs: 200 });
    this.#running = this.ovsdb.run(this.#stop.signal);
  }

  /** Resolves once it has the database's rows. */
  static async open(
    database: DatabaseShape,
    endpoints: string,
    followed: readonly Followed[],
    signal?: AbortSignal,
  ): Promise<LabClient> {
    const client = new LabClient(database, endpoints, followed);
    try {
      await client.until(`${endpoints} to tell its rows`, () => client.ovsdb.hasSynced || undefined, signal);
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** Asks again whenever the database has changed. */
  async until<T>(what: string, look: () => T | undefined, signal?: AbortSignal): Promise<T> {
    const limit = AbortSignal.timeout(patienceMs);
    const either = AbortSignal.any([limit, this.#stop.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      return await this.ovsdb.until(look, either);
    } catch (cause) {
      signal?.throwIfAborted();
      const why = this.ovsdb.lastError?.message ?? "nothing went wrong";
      throw new Error(`gave up waiting for ${what} after ${patienceMs / 1000} s; ${why}`, { cause });
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
