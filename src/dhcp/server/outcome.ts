// The outcome of a message: a reply or silence, and effects. All are values; sockets and reconcilers carry them out.
import type { V4Address } from "../../net/address.ts";
import type { Mac } from "../../net/mac.ts";
import type { Fault } from "../fault.ts";
import type { Outgoing } from "../message/encode.ts";
import type { Destination } from "./destination.ts";

export type ReplyType = "OFFER" | "ACK" | "NAK";

export type SilenceReason =
  /** The bytes are no message: `fault` says why. */
  | "malformed"
  /** It is a reply, of a server. */
  | "not-a-request"
  /** No option 53: plain BOOTP. */
  | "bootp"
  /** A type that is no client's, or of a later document. */
  | "unsupported-type"
  /** Not Ethernet. */
  | "unsupported-hardware"
  /** It says that a relay sent it, and none may on this way. */
  | "relay-not-allowed"
  /** Nobody serves the link that the relay names. */
  | "unknown-network"
  /** No binding: a device that is not ours, or not yet. */
  | "unknown-client"
  /** The binding's pool is not served, or its address is none of that pool's clients. */
  | "no-pool"
  | "rate-limited"
  /** The address is in quarantine, and the client does not have it yet. */
  | "quarantined"
  /** The client has chosen another server. */
  | "other-server"
  /** RELEASE or DECLINE of an address that is not the client's. */
  | "not-its-address"
  /** INFORM from nowhere, or from an address of another network. */
  | "wrong-network"
  /** RELEASE or DECLINE: there is no answer to it (RFC 2131 section 3.1). The effects say what was recorded. */
  | "recorded";

export interface AboutClient {
  readonly network: string;
  readonly address: V4Address;
  readonly mac: Mac;
}

export type Effect =
  /** The client has the address until then (infinity for a lease without end), and may renew it. */
  | ({ readonly kind: "leased"; readonly untilMs: number } & AboutClient)
  /** The client says that it uses the address no more. Its binding stays. */
  | ({ readonly kind: "released"; readonly atMs: number } & AboutClient)
  /** Nobody who does not have the address already gets it until then; all servers of the network should know. */
  | ({ readonly kind: "quarantined"; readonly untilMs: number } & AboutClient)
  /** The client found the address in use: somebody has to look. `note` is what it says, if anything. */
  | ({ readonly kind: "conflict"; readonly note: string | undefined } & AboutClient)
  /** A client of ours was offered an address by another server, and took it. */
  | {
      readonly kind: "foreign-server";
      readonly network: string;
      readonly server: V4Address;
      readonly mac: Mac;
    };

export interface Reply {
  readonly kind: "reply";
  readonly type: ReplyType;
  /** Has views of the received message: encode it before the buffer is written again. */
  readonly message: Outgoing;
  /** What the client (option 57) and the link take at most. */
  readonly datagramBytes: number;
  readonly destination: Destination;
  /** The source of the reply: the server identifier. */
  readonly source: number;
  readonly effects: readonly Effect[];
}

export interface Silence {
  readonly kind: "silence";
  readonly reason: SilenceReason;
  readonly fault?: Fault;
  readonly effects: readonly Effect[];
}

export type Outcome = Reply | Silence;

export const noEffects: readonly Effect[] = Object.freeze([]);

/** Key: the reason. Made once: silence is what a flood of messages gets. */
const silences = new Map<SilenceReason, Silence>();

export function silence(reason: SilenceReason): Silence {
  let found = silences.get(reason);
  if (found === undefined) {
    found = Object.freeze({ kind: "silence", reason, effects: noEffects });
    silences.set(reason, found);
  }
  return found;
}
