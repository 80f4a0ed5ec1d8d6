// Who is at the other end of an accepted unix socket: SO_PEERCRED (unix(7)), which the kernel fills in at connect().
// Promised: what the peer was then; it cannot forge it. Not promised: that the process still lives. `pid` is 0 for a
// process outside our pid namespace, as the host's runtime is for a container; `uid`, `gid` are of our user namespace.
import type { Socket } from "node:net";

import { KernelError, libc, refused } from "../../linux/libc.ts";

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** struct ucred: pid, uid, gid, 32 bits each. */
const ucredBytes = 12;

export function peerCredentials(socket: Socket) {
  const fd = descriptorOf(socket);
  const value = Buffer.alloc(ucredBytes);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(ucredBytes);
  if (libc.getsockopt(fd, SOL_SOCKET, SO_PEERCRED, value, length) < 0)
    throw refused("read the peer credentials of a connection", "Only a connected socket has them.");
  const credentials = { pid: value.readInt32LE(0), uid: value.readUInt32LE(4), gid: value.readUInt32LE(8) };
  // A socket without a peer of its own (TCP) is answered, with ids that nobody has.
  const remedy = "it is not a unix socket. Serve the daemon on a unix socket only.";
  if (credentials.uid === nobodyId)
    throw new KernelError("no-descriptor", `a connection has no peer credentials: ${remedy}`);
  return credentials;
}

const nobodyId = 0xffff_ffff;

/** libuv's handle is not in Node's interface, but the only way to the descriptor: it is looked at, not trusted. */
function descriptorOf(socket: Socket): number {
  const handle = Reflect.get(socket, "_handle") as { readonly fd?: unknown } | null | undefined;
  const fd = handle?.fd;
  if (typeof fd === "number" && Number.isInteger(fd) && fd >= 0) return fd;
  const why = socket.destroyed || handle === null ? "it is not open" : "this Node does not tell it (socket._handle.fd)";
  const remedy = 'Ask for its peer in the "connection" event, on the Node that the lock pins.';
  throw new KernelError("no-descriptor", `a connection has no file descriptor: ${why}. ${remedy}`);
}
