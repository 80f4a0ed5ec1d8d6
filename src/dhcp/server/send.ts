// A reply as bytes: a datagram for a UDP socket, or a whole frame for a packet socket. One buffer serves all replies.
import { encodeFrame, frameBufferBytes, payloadAt } from "../frame/frame.ts";
import { type Encoded, encodeMessage } from "../message/encode.ts";
import { type Destination, port } from "./destination.ts";
import type { Reply } from "./outcome.ts";

const everybody = 0xffff_ffff;
const everybodyMac = new Uint8Array(6).fill(0xff);

export class ReplyWriter {
  readonly #buffer: Uint8Array;

  /** A buffer of `frameBufferBytes`, where the replies are made. */
  constructor(buffer: Uint8Array = new Uint8Array(frameBufferBytes)) {
    this.#buffer = buffer;
  }

  /** The view is good until the next call. */
  datagram({ message, datagramBytes }: Reply): Encoded {
    return encodeMessage(message, datagramBytes, this.#buffer, payloadAt);
  }

  /**
   * `source`: the interface's MAC. `vlan`: where frames are tagged. `sender`: the MAC that the message came from, where
   * it may be of a relay or of a router before the client; without it a relay gets a datagram, by UDP.
   */
  frame(reply: Reply, source: Uint8Array, vlan: number | undefined, sender?: Uint8Array): Encoded | undefined {
    const { destination } = reply;
    const to = destination.kind === "broadcast" ? everybodyMac : (sender ?? macOf(destination));
    if (to === undefined) return undefined;
    const { bytes, leftOut } = this.datagram(reply);
    const headers = {
      ethernet: vlan === undefined ? { destination: to, source } : { destination: to, source, vlan },
      sourceAddress: reply.source,
      destinationAddress: destination.kind === "broadcast" ? everybody : destination.address,
      sourcePort: port.server,
      destinationPort: destination.port,
    };
    return { bytes: encodeFrame(headers, bytes.length, this.#buffer), leftOut };
  }
}

function macOf(destination: Exclude<Destination, { readonly kind: "broadcast" }>): Uint8Array | undefined {
  return destination.kind === "unicast" ? destination.mac : undefined;
}
