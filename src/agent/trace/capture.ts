// Every DHCP frame that passes an interface, both directions, whoever sends it: for `holdfast dhcp trace`. A packet
// socket of its own, with a filter in the kernel; it changes nothing on the interface.
import { deviceOf, openQueries } from "../../dhcp/socket/device.ts";
import { allocate, libc, refused, SOCK_CLOEXEC, SOCK_NONBLOCK, WireError } from "../../dhcp/socket/libc.ts";
import { batchMessages, ReceiveBatch } from "../../dhcp/socket/receive-batch.ts";
import { type Clock, sleep } from "../../kube/clock.ts";

const AF_PACKET = 17;
const SOCK_RAW = 3;
const ETH_P_ALL = 3;
const SOL_SOCKET = 1;
const SO_ATTACH_FILTER = 26;
/** How often the socket is looked at. */
const pollMs = 20;
/** In one turn, so that a flood does not keep Ctrl-C waiting: 1,024 frames. */
const batchesPerTurn = 16;

/** Calls back with each frame, a view that is good until the callback returns, until the signal aborts. */
export async function capture(
  interfaceName: string,
  clock: Clock,
  signal: AbortSignal,
  onFrame: (frame: Uint8Array, atMs: number) => void,
): Promise<void> {
  const fd = openCapture(interfaceName);
  const incoming = new ReceiveBatch();
  try {
    do {
      for (let turn = 0; turn < batchesPerTurn; turn++) {
        const count = incoming.receive(fd);
        const atMs = clock.wallMs();
        for (let i = 0; i < count; i++) onFrame(tagged(incoming.frame(i), incoming.vlan(i)), atMs);
        incoming.done(Math.max(count, 0));
        if (count < batchMessages) break;
      }
    } while (await sleep(clock, pollMs, signal));
  } finally {
    libc.close(fd);
  }
}

function openCapture(name: string): number {
  const queries = openQueries();
  const device = deviceOf(queries, name);
  libc.close(queries);
  if (device === undefined) {
    throw new WireError("no-interface", `There is no interface ${name} here: \`ip link\` lists them.`);
  }
  const fd = libc.socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw refused("open a packet socket", "Run it as root, or with CAP_NET_RAW.");
  const { address, length } = filter();
  const bound = Buffer.alloc(20); // struct sockaddr_ll
  bound.writeUInt16LE(AF_PACKET, 0);
  bound.writeUInt16BE(ETH_P_ALL, 2);
  bound.writeInt32LE(device.index, 4);
  const isOpen =
    libc.setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, address, length) >= 0 && libc.bind(fd, bound, bound.length) >= 0;
  if (isOpen) return fd;
  const error = refused(`listen on the interface ${name}`, "Did it go away?");
  libc.close(fd);
  throw error;
}

/** Classic BPF: UDP over IPv4, from or to port 67 or 68, no later fragment. Code, jump if true, if false, constant. */
const program = [
  [0x28, 0, 0, 12], //         type of the packet
  [0x15, 0, 12, 0x0800], //    IPv4
  [0x30, 0, 0, 23],
  [0x15, 0, 10, 17], //        UDP
  [0x28, 0, 0, 20],
  [0x45, 8, 0, 0x1fff], //     a later fragment
  [0xb1, 0, 0, 14], //         X: bytes of the IPv4 header
  [0x48, 0, 0, 14], //         source port
  [0x15, 4, 0, 67],
  [0x15, 3, 0, 68],
  [0x48, 0, 0, 16], //         destination port
  [0x15, 1, 0, 67],
  [0x15, 0, 1, 68],
  [0x06, 0, 0, 0x4_0000], //   all of it
  [0x06, 0, 0, 0], //          nothing
] as const;

/** struct sock_fprog (count, pointer), and the program behind it. */
function filter(): { readonly address: bigint; readonly length: number } {
  const headerBytes = 16;
  const { address, bytes } = allocate(headerBytes + 8 * program.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint16(0, program.length, true);
  view.setBigUint64(8, address + BigInt(headerBytes), true);
  for (const [index, [code, then, otherwise, k]] of program.entries()) {
    const at = headerBytes + 8 * index;
    view.setUint16(at, code, true);
    view.setUint8(at + 2, then);
    view.setUint8(at + 3, otherwise);
    view.setUint32(at + 4, k, true);
  }
  return { address, length: headerBytes };
}

/** The frame as it was on the cable: the kernel takes the tag off and tells it beside. */
function tagged(frame: Uint8Array, vlan: number): Uint8Array {
  if (vlan === 0) return frame;
  const whole = new Uint8Array(frame.length + 4);
  whole.set(frame.subarray(0, 12), 0);
  whole.set([0x81, 0x00, vlan >> 8, vlan & 0xff], 12);
  whole.set(frame.subarray(12), 16);
  return whole;
}
