// The northbound database of a zone: followed for as long as this process writes it.
import type { Clock } from "../../kube/clock.ts";
import { sleep } from "../../kube/clock.ts";
import { Northbound, northboundTables } from "../../ovn/northbound.ts";
import { isOvsdbError } from "../../ovsdb/error.ts";
import type { Dial, TlsOptions } from "../../ovsdb/rpc/dial.ts";
import { parseEndpoints } from "../../ovsdb/rpc/endpoint.ts";
import { ovnNorthbound } from "../../ovsdb/schema/ovn-northbound.ts";
import { OvsdbClient } from "../../ovsdb/session/client.ts";
import type { ClientStatus } from "../../ovsdb/session/options.ts";
import { NetworkError } from "../topology/cluster-network.ts";

export interface DatabaseOptions {
  /** `unix:/…`, `tcp:…`, `ssl:…`, several with commas. Throws what src/ovsdb throws where it is none of these. */
  readonly endpoints: string;
  readonly tls?: TlsOptions;
  readonly dial?: Dial;
  readonly clock: Clock;
  readonly onStatus?: (status: ClientStatus) => void;
  readonly onError: (error: Error) => void;
}

/** ovn-northd writes its version when it starts; one that does not run makes nothing of rows either. */
const versionMs = 30_000;

export class NorthboundDatabase {
  readonly northbound: Northbound;
  readonly #client: OvsdbClient;
  readonly #clock: Clock;

  constructor({ clock, ...options }: DatabaseOptions) {
    this.#clock = clock;
    this.#client = new OvsdbClient({ ...options, clock, database: ovnNorthbound, followed: northboundTables });
    this.northbound = new Northbound(this.#client);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#client.run(signal);
  }

  /** Told after every change of what is followed, our own too. The returned function ends it. */
  handle(changed: () => void): () => void {
    return this.#client.handle(changed);
  }

  get lastError(): Error | undefined {
    return this.#client.lastError;
  }

  /** Its rows are known; and OVN's version, or it was not told for 30 s: then the least is expected of it. */
  readonly ready = async (signal: AbortSignal): Promise<void> => {
    await this.#client.until(() => this.#client.hasSynced || undefined, signal);
    if (this.northbound.version !== undefined) return;
    const told = new AbortController();
    const either = AbortSignal.any([signal, told.signal]);
    const wait = this.#client.until(() => this.northbound.version, either).catch(() => undefined);
    await Promise.race([wait, sleep(this.#clock, versionMs, either)]);
    told.abort();
    signal.throwIfAborted();
  };
}

/** Throws NetworkError where the text names no endpoints. */
export function assertEndpoints(text: string): void {
  try {
    parseEndpoints(text);
  } catch (error) {
    if (isOvsdbError(error)) throw new NetworkError("bad-network", error.message, { cause: error });
    throw error;
  }
}
