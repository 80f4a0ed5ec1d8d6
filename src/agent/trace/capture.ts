// Every frame of DHCP, DHCPv6 and IPv6 neighbour discovery that passes an interface, both directions, whoever sends it:
// for `holdfast dhcp trace`. A packet socket of its own, with a filter in the kernel; it changes nothing on the
// interface: groups of Ethernet that nobody there has joined are not heard.
import { deviceOf, openQueries } from "../../dhcp/socket/device.ts";
import { instructionBytes, traceFilter } from "../../dhcp/socket/filter.ts";
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

/** struct sock_fprog (count, pointer), and the program behind it. */
function filter(): { readonly address: bigint; readonly length: number } {
  const headerBytes = 16;
  const program = traceFilter();
  const { address, bytes } = allocate(headerBytes + program.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  bytes.set(program, headerBytes);
  view.setUint16(0, program.length / instructionBytes, true);
  view.setBigUint64(8, address + BigInt(headerBytes), true);
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
