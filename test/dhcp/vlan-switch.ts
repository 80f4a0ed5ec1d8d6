// A switch with VLANs as a process, for kernels without 802.1Q: `vlan-switch.ts TRUNK PORT=VLAN...`. Frames from a port
// go to the trunk with its tag, those from the trunk to the port of their tag, without it. Runs until it is killed.
import { ReceiveBatch } from "../../src/dhcp/socket/receive-batch.ts";
import { SendBatch } from "../../src/dhcp/socket/send-batch.ts";
import { deviceOf, openQueries } from "../../src/linux/device.ts";
import { libc, refused } from "../../src/linux/libc.ts";

const AF_PACKET = 17;
const SOCK_RAW = 3;
const ETH_P_ALL = 3;
const SOL_PACKET = 263;
const PACKET_AUXDATA = 8;
const PACKET_IGNORE_OUTGOING = 23;
const POLLIN = 1;

const queries = openQueries();
const incoming = new ReceiveBatch();
const outgoing = new SendBatch();

/** Every frame of an interface, whoever it is for. */
function open(name: string): number {
  const device = deviceOf(queries, name);
  if (device === undefined) throw new Error(`no interface ${name}`);
  const fd = libc.socket(AF_PACKET, SOCK_RAW, 0);
  const on = Buffer.from([1, 0, 0, 0]);
  for (const option of [PACKET_AUXDATA, PACKET_IGNORE_OUTGOING]) libc.setsockopt(fd, SOL_PACKET, option, on, on.length);
  const address = Buffer.alloc(20);
  address.writeUInt16LE(AF_PACKET, 0);
  address.writeUInt16BE(ETH_P_ALL, 2);
  address.writeInt32LE(device.index, 4);
  if (libc.bind(fd, address, address.length) < 0) throw refused(`listen on ${name}`, "");
  return fd;
}

function forward(fd: number, way: (frame: Uint8Array, vlan: number) => { to: number; frame: Uint8Array } | undefined) {
  const count = incoming.receive(fd);
  for (let index = 0; index < count; index++) {
    const sent = way(incoming.frame(index), incoming.vlan(index));
    if (sent === undefined) continue;
    outgoing.addFrame(sent.frame);
    outgoing.flush(sent.to);
  }
  incoming.done(count);
}

const [trunkName = "", ...plans] = process.argv.slice(2);
const trunk = open(trunkName);
const ports = plans.map((plan) => {
  const [name = "", vlan] = plan.split("=");
  return { fd: open(name), vlan: Number(vlan) };
});
console.log("ready");
const descriptors = new Int32Array(2 * (ports.length + 1));
for (;;) {
  for (const [index, fd] of [trunk, ...ports.map((port) => port.fd)].entries())
    descriptors.set([fd, POLLIN], 2 * index);
  libc.poll(new Uint8Array(descriptors.buffer), ports.length + 1, 1000);
  forward(trunk, (frame, vlan) => {
    const port = ports.find((each) => each.vlan === vlan);
    return port && { to: port.fd, frame: frame.slice() };
  });
  for (const { fd, vlan } of ports) {
    const tag = [0x81, 0, vlan >> 8, vlan & 0xff];
    forward(fd, (frame) => ({
      to: trunk,
      frame: Uint8Array.of(...frame.subarray(0, 12), ...tag, ...frame.subarray(12)),
    }));
  }
}
