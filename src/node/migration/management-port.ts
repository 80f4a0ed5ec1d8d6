// The node's own port on its OVN switch (`ovn-k8s-mp0`), as a way to say something there: a frame goes OVN's way as
// every packet does that the node sends by it.
//
// Promised: all frames are handed to the kernel, or it throws what happened. Not promised: that OVN forwards them.
import { KernelError, lastErrno, libc, MSG_DONTWAIT } from "../../linux/libc.ts";
import { isPassing } from "../../linux/packet.ts";
import type { Mac } from "../../net/mac.ts";
import { openOn } from "./port-socket.ts";

/** `frames` are made for the interface's own MAC. Opened anew each time: Open vSwitch may have made it again. */
export function sayOn(name: string, frames: (sender: Mac) => readonly Uint8Array[]): void {
  // Type 0: nothing is received.
  const { fd, mac } = openOn(name, 0);
  try {
    for (const frame of frames(mac)) {
      if (libc.send(fd, frame, frame.length, MSG_DONTWAIT) >= 0) continue;
      const errno = lastErrno();
      // It is said again.
      if (!isPassing(errno)) throw new KernelError("system-call", `cannot send on the interface ${name}: ${errno}.`);
    }
  } finally {
    libc.close(fd);
  }
}
