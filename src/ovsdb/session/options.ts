// What a client is made from, and what it tells of itself.
import type { Followed } from "../cache/followed.ts";
import { type Clock, realClock } from "../clock.ts";
import type { DatabaseShape } from "../notation/shape.ts";
import type { Uuid } from "../notation/uuid.ts";
import type { Dial, TlsOptions } from "../rpc/dial.ts";

export interface ClientOptions {
  readonly database: DatabaseShape;
  /** As Open vSwitch writes them: `tcp:10.0.0.1:6641,tcp:10.0.0.2:6641`. Tried in this order, round and round. */
  readonly endpoints: string;
  readonly followed: readonly Followed[];
  /** Of a cluster, use the leader only. True unless said otherwise. */
  readonly leaderOnly?: boolean;
  /** The cluster that servers must be of; any if it is not given. */
  readonly clusterId?: Uuid;
  readonly tls?: TlsOptions;
  readonly dial?: Dial;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly probeIntervalMs?: number;
  /** How long a server has from the dial until the cache is filled. */
  readonly openTimeoutMs?: number;
  readonly maxMessageBytes?: number;
  readonly firstBackoffMs?: number;
  readonly maxBackoffMs?: number;
  readonly onStatus?: (status: ClientStatus) => void;
  /** A server that was not fit or was lost, a handler or an index function that threw. */
  readonly onError?: (error: Error) => void;
}

export type ClientStatus =
  | { readonly kind: "disconnected" }
  /** `resumed`: only what had changed in between was sent. */
  | { readonly kind: "connected"; readonly endpoint: string; readonly resumed: boolean };

export interface TransactOptions {
  readonly signal?: AbortSignal;
  /** From the call to the reply. A `wait` of the transaction needs to fit in. */
  readonly timeoutMs?: number;
}

export const defaults = {
  leaderOnly: true,
  clock: realClock,
  random: () => Math.random(),
  /** Open vSwitch's own. */
  probeIntervalMs: 5000,
  openTimeoutMs: 60_000,
  /** A row has some 500 bytes: half a million of them. */
  maxMessageBytes: 256 * 1024 * 1024,
  firstBackoffMs: 100,
  /** Open vSwitch's own. */
  maxBackoffMs: 8000,
};
