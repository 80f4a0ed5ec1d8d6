// A packet socket on one interface of the node's own namespace.
import { deviceOf } from "../../linux/device.ts";
import { KernelError, libc } from "../../linux/libc.ts";
import { listenOn, packetSocket } from "../../linux/packet.ts";
import { type Mac, macFromBytes } from "../../net/mac.ts";

/** The caller closes it. */
export function openOn(name: string, etherType: number): { readonly fd: number; readonly mac: Mac } {
  const fd = packetSocket("The daemon needs CAP_NET_RAW.");
  try {
    const device = deviceOf(fd, name);
    const words = `the node has no interface ${name}: it went away, or is not made yet.`;
    if (device === undefined) throw new KernelError("no-interface", words);
    listenOn(fd, name, device.index, etherType);
    return { fd, mac: macFromBytes(device.mac) };
  } catch (error) {
    libc.close(fd);
    throw error;
  }
}
