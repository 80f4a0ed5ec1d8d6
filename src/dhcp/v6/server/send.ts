// A reply as bytes: a datagram for a UDP socket, or a whole frame for a packet socket. One buffer serves all replies.
import { datagramAt, encodeDatagram, frameBufferBytesV6 } from "../frame/frame.ts";
import { type EncodedV6, encodeMessageV6, relaysBytesMax } from "../message/encode.ts";
import type { ReplyV6 } from "./outcome.ts";
import { portV6 } from "./reply.ts";

export interface RelayWay {
  readonly mac: Uint8Array;
  /** Ours: the source of the reply. */
  readonly address: Uint8Array;
}

export class ReplyWriterV6 {
  readonly #buffer = new Uint8Array(frameBufferBytesV6 + relaysBytesMax);

  /** The view is good until the next call. */
  datagram({ message, messageBytes }: ReplyV6): EncodedV6 {
    return encodeMessageV6(message, messageBytes, this.#buffer, datagramAt);
  }

  /**
   * `source`: the interface's MAC. `vlan`: where frames are tagged. `relay`: which MAC a relayed message came from, and
   * which address it went to. Undefined without the MAC of a client or a relay: use UDP.
   */
  frame(reply: ReplyV6, source: Uint8Array, vlan: number | undefined, relay?: RelayWay): EncodedV6 | undefined {
    const { destination } = reply;
    const to = destination.kind === "relay" ? relay?.mac : destination.mac;
    if (to === undefined) return undefined;
    const { bytes, leftOut } = this.datagram(reply);
    const macs = { destination: to, source };
    const headers = {
      ethernet: vlan === undefined ? macs : { ...macs, vlan },
      source: destination.kind === "relay" ? relay!.address : reply.source,
      destination: destination.address,
    };
    const ports = { source: portV6.server, destination: destination.port };
    return { bytes: encodeDatagram(headers, ports, bytes.length, this.#buffer), leftOut };
  }
}
