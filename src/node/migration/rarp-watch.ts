// Reverse ARP (RFC 903) on one interface: QEMU sends it, with the guest's MAC, at the moment that a guest goes on after
// a live migration. Nobody else does on a pod's cable: the kernel of the pod sends other frames with that MAC as soon
// as its link is up, long before the guest is there, so any other frame is no sign.
import { type Clock, sleep } from "../../kube/clock.ts";
import { KernelError, lastErrno, libc, MSG_DONTWAIT } from "../../linux/libc.ts";
import { ignoreOwn, isPassing } from "../../linux/packet.ts";
import { type Mac, macFromBytes } from "../../net/mac.ts";
import { openOn } from "./port-socket.ts";

const ETH_P_RARP = 0x8035;
/** Looked at so often: a look costs some microseconds, and few guests arrive on a node at once. */
const everyMs = 5;
/** QEMU sends five of them. */
const framesPerLook = 16;
const frameBytes = 64;

/** True: it was seen. False: the signal came first. Throws what the kernel refuses. */
export async function sawRarp(name: string, mac: Mac, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const { fd } = openOn(name, ETH_P_RARP);
  try {
    // What is sent to the pod is not the guest's.
    ignoreOwn(fd);
    const frame = Buffer.alloc(frameBytes);
    do if (hasArrived(fd, name, mac, frame)) return true;
    while (await sleep(clock, everyMs, signal));
    return false;
  } finally {
    libc.close(fd);
  }
}

function hasArrived(fd: number, name: string, mac: Mac, frame: Buffer): boolean {
  for (let count = 0; count < framesPerLook; count++) {
    const length = libc.recv(fd, frame, frameBytes, MSG_DONTWAIT);
    if (length >= 14 && macFromBytes(frame.subarray(6, 12)) === mac) return true;
    if (length >= 0) continue;
    const errno = lastErrno();
    if (isPassing(errno)) return false;
    throw new KernelError("no-interface", `cannot listen on the interface ${name}: ${errno}. Did it go away?`);
  }
  return false;
}
