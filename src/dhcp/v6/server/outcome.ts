// The outcome of a message: a reply or silence, and effects. All are values; sockets and reconcilers carry them out.
import type { V6Address } from "../../../net/address.ts";
import type { Mac } from "../../../net/mac.ts";
import type { Fault } from "../../fault.ts";
import type { OutgoingV6 } from "../message/encode.ts";

export type ReplyTypeV6 = "ADVERTISE" | "REPLY";

export type SilenceReasonV6 =
  /** The bytes are no message: `fault` says why. */
  | "malformed"
  /** A type that only servers and relays send to clients (RFC 8415 sections 16.3, 16.10, 16.11 and 16.14). */
  | "not-a-request"
  /** A type of a later document. */
  | "unsupported-type"
  /** Without a client identifier where it must have one (section 16). */
  | "no-client-identifier"
  /** Without a server identifier where it must have one (section 16). */
  | "no-server-identifier"
  /** With a server identifier where it must have none (section 16). */
  | "unexpected-server-identifier"
  /** An INFORMATION-REQUEST with an IA (section 16.12). */
  | "unexpected-ia"
  /** To an address of ours where it must go to everybody (section 16). */
  | "unicast"
  /** From an address that no answer can go to. */
  | "no-return-address"
  /** It says that a relay sent it, and none may on this way. */
  | "relay-not-allowed"
  /** Nobody serves the link that the relay names. */
  | "unknown-network"
  /** No binding, or nothing that tells its MAC: a device that is not ours, or not yet. */
  | "unknown-client"
  /** The binding's pool is not served, or its address is none of that pool's clients. */
  | "no-pool"
  | "rate-limited"
  /** The address is in quarantine, and the client does not have it yet. */
  | "quarantined"
  /** The client talks to another server. */
  | "other-server"
  /** A CONFIRM without an address (section 18.3.3). */
  | "nothing-to-confirm";

export interface AboutClientV6 {
  readonly network: string;
  readonly address: V6Address;
  readonly mac: Mac;
}

export type EffectV6 =
  /** The client has the address until then (infinity for a lease without end), and may renew it. */
  | ({ readonly kind: "leased"; readonly untilMs: number } & AboutClientV6)
  /** The client says that it uses the address no more. Its binding stays. */
  | ({ readonly kind: "released"; readonly atMs: number } & AboutClientV6)
  /** Nobody who does not have the address already gets it until then; all servers of the network should know. */
  | ({ readonly kind: "quarantined"; readonly untilMs: number } & AboutClientV6)
  /** The client found the address in use: somebody has to look. */
  | ({ readonly kind: "conflict" } & AboutClientV6)
  /** A client of ours takes its address from another server. `server` is its DUID in hexadecimal. */
  | {
      readonly kind: "foreign-server";
      readonly network: string;
      readonly server: string;
      readonly mac: Mac;
    };

export type DestinationV6 =
  /** By UDP, routed as any other datagram. */
  | { readonly kind: "relay"; readonly address: Uint8Array; readonly port: number }
  /** In a frame to the client's own MAC; by UDP where the message came by UDP and no MAC is known. */
  | {
      readonly kind: "unicast";
      readonly mac: Uint8Array | undefined;
      readonly address: Uint8Array;
      readonly port: number;
    };

export interface ReplyV6 {
  readonly kind: "reply";
  readonly type: ReplyTypeV6;
  /** Has views of the received message: encode it before the buffer is written again. */
  readonly message: OutgoingV6;
  /** What the link takes at most. */
  readonly messageBytes: number;
  readonly destination: DestinationV6;
  /** The source of the reply: the server's link-local address. */
  readonly source: Uint8Array;
  readonly effects: readonly EffectV6[];
}

export interface SilenceV6 {
  readonly kind: "silence";
  readonly reason: SilenceReasonV6;
  readonly fault?: Fault;
  readonly effects: readonly EffectV6[];
}

export type OutcomeV6 = ReplyV6 | SilenceV6;

export const noEffectsV6: readonly EffectV6[] = Object.freeze([]);

/** Key: the reason. Made once: silence is what a flood of messages gets. */
const silences = new Map<SilenceReasonV6, SilenceV6>();

export function silenceV6(reason: SilenceReasonV6): SilenceV6 {
  let found = silences.get(reason);
  if (found === undefined) {
    found = Object.freeze({ kind: "silence", reason, effects: noEffectsV6 });
    silences.set(reason, found);
  }
  return found;
}
