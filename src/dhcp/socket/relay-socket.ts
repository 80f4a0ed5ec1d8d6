// A UDP socket for relays that reach this machine by routing, and for renewals of the clients behind them.
import { uint32 } from "../../frame/bytes.ts";
import { tagBytes } from "../../frame/ethernet.ts";
import { AF_INET, libc, refused, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK } from "../../linux/libc.ts";
import { encodeFrame, frameBufferBytes, payloadAt } from "../frame/frame.ts";
import { field } from "../message/header.ts";
import { port } from "../server/destination.ts";
import type { SocketCounters } from "./interface.ts";
import type { LinkSink, Moment } from "./link.ts";
import { growReceiveBuffer } from "./packet-socket.ts";
import { batchMessages, type ReceiveBatch } from "./receive-batch.ts";
import type { SendBatch } from "./send-batch.ts";

const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const batchesPerTurn = 4;

export interface RelayContext {
  readonly incoming: ReceiveBatch;
  readonly outgoing: SendBatch;
  readonly sink: LinkSink;
  /** Whether a link of this wire has the clients of that address: their renewals are answered there. */
  hasLinkAround(address: number): boolean;
  readonly isTracing: boolean;
}

export class RelaySocket {
  readonly fd: number;
  readonly #context: RelayContext;
  readonly #address: number;
  #received = 0;
  #sent = 0;
  #failed = 0;
  #ignored = 0;

  /** In the namespace that the calling thread is in. */
  constructor(address: number, udpPort: number, context: RelayContext) {
    this.#address = address;
    this.#context = context;
    this.fd = libc.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (this.fd < 0) throw refused("open a UDP socket", "Raise the limit of open files.");
    const on = Buffer.alloc(4);
    on.writeInt32LE(1);
    libc.setsockopt(this.fd, SOL_SOCKET, SO_REUSEADDR, on, on.length);
    growReceiveBuffer(this.fd);
    const name = Buffer.alloc(16); // struct sockaddr_in
    name.writeUInt16LE(AF_INET, 0);
    name.writeUInt16BE(udpPort, 2);
    name.writeUInt32BE(address, 4);
    if (libc.bind(this.fd, name, name.length) >= 0) return;
    const error = refused(`listen on UDP port ${udpPort}`, "Is another DHCP server running, or is the right missing?");
    libc.close(this.fd);
    throw error;
  }

  receive({ wallMs }: Moment): void {
    const { incoming, outgoing } = this.#context;
    for (let turn = 0; turn < batchesPerTurn; turn++) {
      const count = incoming.receive(this.fd);
      if (count <= 0) return;
      for (let i = 0; i < count; i++) this.#answer(incoming.frame(i), incoming.senderAddress(i), wallMs);
      incoming.done(count);
      this.#received += count;
      const { count: waiting } = outgoing;
      const sent = waiting === 0 ? 0 : outgoing.flush(this.fd);
      this.#sent += sent;
      this.#failed += waiting - sent;
      if (count < batchMessages) return;
    }
  }

  /** An error of a datagram that was sent, which the next call takes off the socket. */
  trouble(): void {}

  counters(): SocketCounters {
    return {
      framesReceived: this.#received,
      framesSent: this.#sent,
      droppedByKernel: 0,
      sendsFailed: this.#failed,
      ignored: this.#ignored,
    };
  }

  close(): void {
    libc.close(this.fd);
  }

  #answer(datagram: Uint8Array, sourceAddress: number, wallMs: number): void {
    const { sink, outgoing } = this.#context;
    if (this.#isOfLink(datagram)) {
      this.#ignored += 1;
      return;
    }
    const outcome = sink.server.handle(datagram, { network: undefined, acceptRelays: true, sourceAddress }, wallMs);
    const reason = outcome.kind === "silence" ? outcome.reason : undefined;
    const ports = { sourcePort: port.server, destinationPort: port.server };
    if (this.#context.isTracing) {
      const frame = frameAround(datagram, { sourceAddress, destinationAddress: this.#address, ...ports });
      sink.traced("", "in", frame, payloadAt - tagBytes, reason);
    }
    if (outcome.effects.length > 0) sink.effects(outcome);
    if (outcome.kind === "silence") return;
    const { destination, source } = outcome;
    // Everybody cannot be reached from here: there is no link.
    if (destination.kind === "broadcast") return;
    const { bytes } = outgoing.writer.datagram(outcome);
    if (this.#context.isTracing) {
      const addresses = { sourceAddress: source, destinationAddress: destination.address };
      const frame = frameAround(bytes, { ...addresses, sourcePort: port.server, destinationPort: destination.port });
      sink.traced("", "out", frame, payloadAt - tagBytes);
    }
    outgoing.addDatagram(bytes, destination.address, destination.port);
  }

  /** A message without a relay, of a client that is on one of our links: its frame has come there too. */
  #isOfLink(datagram: Uint8Array): boolean {
    if (datagram.length < field.options || uint32(datagram, field.giaddr) !== 0) return false;
    return this.#context.hasLinkAround(uint32(datagram, field.ciaddr));
  }
}

const nobody = new Uint8Array(6);

/** A frame for traces, since a datagram has none. */
function frameAround(
  datagram: Uint8Array,
  headers: {
    readonly sourceAddress: number;
    readonly destinationAddress: number;
    readonly sourcePort: number;
    readonly destinationPort: number;
  },
): Uint8Array {
  const buffer = new Uint8Array(Math.max(frameBufferBytes, payloadAt + datagram.length));
  buffer.set(datagram, payloadAt);
  return encodeFrame({ ethernet: { destination: nobody, source: nobody }, ...headers }, datagram.length, buffer);
}
