// Which MAC a message is of: the one thing that decides whose address it gets.
//
// - In a frame: the frame's source, and nothing else. The host checks it; a DUID is what the guest likes, or was cloned
//   with its disk.
// - By UDP, from a client: the EUI-64 of its link-local source, else the MAC in its DUID. There is no frame.
// - By UDP, through relays: the word of the relay next to the client (RFC 6939), else the EUI-64 of the client's
//   address, else the MAC in its DUID.
//
// The first that is there counts, also where it is nobody's: a client that the network does not know is not served
// because it claims another's DUID. Relays are believed: whoever lets them send (`acceptRelays`) vouches for them all.
import { uint16 } from "../../../frame/bytes.ts";
import { macOfLinkLocal } from "../link-local.ts";
import type { Envelope } from "../message/decode.ts";
import { codeV6 } from "../options/codes.ts";
import { macOfDuid } from "../options/duid.ts";

const ethernet = 1;
const macBytes = 6;

export interface Sender {
  /** Of the frame; undefined by UDP. */
  readonly sourceMac: Uint8Array | undefined;
  /** Of the IP header. */
  readonly sourceAddress: Uint8Array;
}

/** Six bytes, or undefined where nothing tells. */
export function macOfClient({ message, relays }: Envelope, sender: Sender): Uint8Array | undefined {
  const nearest = relays.at(-1);
  if (nearest === undefined && sender.sourceMac !== undefined) return sender.sourceMac;
  if (nearest?.clientLinkLayerAddress !== undefined) return macOfOption(nearest.clientLinkLayerAddress);
  return (
    macOfLinkLocal(nearest?.peerAddress ?? sender.sourceAddress) ??
    macOfIdentifier(message.options.get(codeV6.clientIdentifier))
  );
}

function macOfIdentifier(duid: Uint8Array | undefined): Uint8Array | undefined {
  return duid === undefined ? undefined : macOfDuid(duid);
}

/** Undefined for what is not Ethernet. */
function macOfOption(data: Uint8Array): Uint8Array | undefined {
  return data.length === 2 + macBytes && uint16(data, 0) === ethernet ? data.subarray(2) : undefined;
}
