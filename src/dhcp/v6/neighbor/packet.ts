// An ICMPv6 message to be sent, as a value, and the frame that it becomes.
import { encodeIcmp, frameBufferBytesV6, icmpAt } from "../frame/frame.ts";

export interface IcmpPacket {
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  /** Where the frame goes to. */
  readonly mac: Uint8Array;
  /** From the type on, with room for the checksum. */
  readonly message: Uint8Array;
}

export class IcmpWriter {
  readonly #buffer = new Uint8Array(frameBufferBytesV6);

  /** `source`: the interface's MAC. `vlan`: where frames are tagged. The view is good until the next call. */
  frame(packet: IcmpPacket, source: Uint8Array, vlan: number | undefined): Uint8Array {
    const macs = { destination: packet.mac, source };
    this.#buffer.set(packet.message, icmpAt);
    const headers = {
      ethernet: vlan === undefined ? macs : { ...macs, vlan },
      source: packet.source,
      destination: packet.destination,
    };
    return encodeIcmp(headers, packet.message.length, this.#buffer);
  }
}
