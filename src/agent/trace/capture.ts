// Every frame of DHCP, DHCPv6 and IPv6 neighbour discovery that passes an interface, both directions, whoever sends it:
// for `holdfast dhcp trace`. A packet socket of its own, with a filter in the kernel; it changes nothing on the
// interface: groups of Ethernet that nobody there has joined are not heard.
import { traceFilter } from "../../dhcp/socket/filter.ts";
import { batchMessages, ReceiveBatch } from "../../dhcp/socket/receive-batch.ts";
import { type Clock, sleep } from "../../kube/clock.ts";
import { deviceOf, openQueries } from "../../linux/device.ts";
import { KernelError, libc } from "../../linux/libc.ts";
import { attachFilter, ETH_P_ALL, filterProgram, listenOn, packetSocket } from "../../linux/packet.ts";

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
    throw new KernelError("no-interface", `There is no interface ${name} here: \`ip link\` lists them.`);
  }
  const fd = packetSocket("Run it as root, or with CAP_NET_RAW.");
  try {
    attachFilter(fd, filterProgram(traceFilter()));
    listenOn(fd, name, device.index, ETH_P_ALL);
    return fd;
  } catch (error) {
    libc.close(fd);
    throw error;
  }
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
