// From a datagram to a client's message and the relays that it came through (RFC 8415 sections 8, 9 and 21).
//
// Strict: an option that is cut off, an identifier of a wrong length or an IA that cannot be read is a fault.
// Everything is a view: it is good as long as nobody writes into the datagram's buffer.
import { type Fault, fault } from "../../fault.ts";
import { addressBytes } from "../bytes.ts";
import { codeV6 } from "../options/codes.ts";
import { isDuid } from "../options/duid.ts";
import { type Ia, readIas } from "../options/ia.ts";
import { messageTypeV6 } from "./message-type.ts";
import { OptionListV6 } from "./option-list.ts";

export interface MessageV6 {
  readonly type: number;
  /** 24 bits. */
  readonly transactionId: number;
  readonly options: OptionListV6;
  readonly ias: readonly Ia[];
}

/** The header of a RELAY-FORW (section 9.1), with what has to be known of its options. */
export interface Relay {
  readonly hopCount: number;
  readonly linkAddress: Uint8Array;
  readonly peerAddress: Uint8Array;
  /** Goes back as it came (section 19.3). */
  readonly interfaceId: Uint8Array | undefined;
  /** RFC 6939: hardware type in two bytes, and the address of the client. */
  readonly clientLinkLayerAddress: Uint8Array | undefined;
}

export interface Envelope {
  readonly kind: "envelope";
  readonly message: MessageV6;
  /** The one that sent the datagram first, the one next to the client last. */
  readonly relays: readonly Relay[];
}

/** A relay forwards what has a hop count below 8 (section 7.6, HOP_COUNT_LIMIT), so that there are nine at most. */
export const relaysMax = 9;
/** Relays put a port's name or number here. It goes back, and a reply has room for so much from each of them. */
export const interfaceIdBytesMax = 256;
/** Type and transaction identifier. */
export const messageHeadBytes = 4;
/** Type, hop count and two addresses. */
export const relayHeadBytes = 2 + 2 * addressBytes;

const faults = {
  tooShort: fault("message-too-short", "The datagram ends before the options of a DHCPv6 message begin."),
  truncated: fault("truncated", "The message ends within an option."),
  identifier: fault("bad-option", "A client or server identifier is there twice, or is no DUID."),
  ia: fault("bad-option", "An IA ends within an option, or there are more IAs or leases than a client has."),
  relay: fault("bad-option", "A relay's header has no message, or an interface identifier of more than 256 bytes."),
  relays: fault("too-many-relays", "The message came through more than nine relays."),
};

export function decodeEnvelope(datagram: Uint8Array): Envelope | Fault {
  const relays: Relay[] = [];
  let bytes = datagram;
  while (bytes[0] === messageTypeV6.relayForward) {
    if (relays.length === relaysMax) return faults.relays;
    if (bytes.length < relayHeadBytes) return faults.tooShort;
    const options = OptionListV6.scan(bytes, relayHeadBytes);
    if (options === undefined) return faults.truncated;
    const inner = options.get(codeV6.relayMessage);
    const interfaceId = options.get(codeV6.interfaceId);
    if (inner === undefined || (interfaceId?.length ?? 0) > interfaceIdBytesMax) return faults.relay;
    relays.push({
      hopCount: bytes[1]!,
      linkAddress: bytes.subarray(2, 2 + addressBytes),
      peerAddress: bytes.subarray(2 + addressBytes, relayHeadBytes),
      interfaceId,
      clientLinkLayerAddress: options.get(codeV6.clientLinkLayerAddress),
    });
    bytes = inner;
  }
  const message = decodeMessageV6(bytes);
  return "kind" in message ? message : { kind: "envelope", message, relays };
}

function decodeMessageV6(bytes: Uint8Array): MessageV6 | Fault {
  if (bytes.length < messageHeadBytes) return faults.tooShort;
  const type = bytes[0]!;
  const transactionId = (bytes[1]! << 16) | (bytes[2]! << 8) | bytes[3]!;
  // The answer of another server to a relay: its options stand elsewhere, and nobody reads them.
  if (type === messageTypeV6.relayReply) return { type, transactionId, options: noOptions, ias: [] };
  const options = OptionListV6.scan(bytes, messageHeadBytes);
  if (options === undefined) return faults.truncated;
  for (const code of [codeV6.clientIdentifier, codeV6.serverIdentifier]) {
    const duid = options.get(code);
    if (duid !== undefined && (!isDuid(duid) || options.isRepeated(code))) return faults.identifier;
  }
  const ias = readIas(options);
  return ias === undefined ? faults.ia : { type, transactionId, options, ias };
}

const noOptions = OptionListV6.scan(new Uint8Array(0), 0)!;
