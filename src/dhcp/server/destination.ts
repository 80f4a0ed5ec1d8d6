// Where a reply goes (RFC 2131 section 4.1).
import { broadcastFlag } from "../message/header.ts";

export const port = { server: 67, client: 68 } as const;

export type Destination =
  /** By UDP, routed as any other datagram. */
  | { readonly kind: "relay"; readonly address: number; readonly port: number }
  /** In a frame to the client's own MAC, since it may not answer ARP yet; by UDP where the message came by UDP. */
  | { readonly kind: "unicast"; readonly mac: Uint8Array; readonly address: number; readonly port: number }
  /** In a frame to everybody, to 255.255.255.255. */
  | { readonly kind: "broadcast"; readonly port: number };

const everybody: Destination = { kind: "broadcast", port: port.client };

interface Ways {
  readonly giaddr: number;
  readonly ciaddr: number;
  readonly flags: number;
  readonly chaddr: Uint8Array;
}

/** Of an OFFER or an ACK: the relay, the client's address, everybody if the client asks for it, or its new address. */
export function destinationOf({ giaddr, ciaddr, flags, chaddr }: Ways, yiaddr: number): Destination {
  if (giaddr !== 0) return { kind: "relay", address: giaddr, port: port.server };
  if (ciaddr !== 0) return { kind: "unicast", mac: chaddr, address: ciaddr, port: port.client };
  if ((flags & broadcastFlag) !== 0) return everybody;
  return { kind: "unicast", mac: chaddr, address: yiaddr, port: port.client };
}

/** Of a NAK: never unicast, since the client's idea of its address is wrong (section 4.3.2). */
export function nakDestinationOf({ giaddr }: Ways): Destination {
  return giaddr === 0 ? everybody : { kind: "relay", address: giaddr, port: port.server };
}
