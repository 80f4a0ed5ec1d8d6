// One request to the daemon's socket from a process on Node, in the frames that the shim speaks (protocol/frame.ts).
// For `holdfast demo`, tests and benchmarks; runtimes start the shim.
//
// Promised: one connection, one request, one reply, or a rejection that says what came instead. Not promised: a
// deadline of its own; the daemon has one.
import { connect } from "node:net";

import type { Reply } from "./protocol/frame.ts";
import { ReplyBuffer, requestFrame } from "./shim/wire.ts";

const utf8 = new TextEncoder();

/** As the shim sends it. Key of the environment: the variable's name, as CNI_COMMAND. */
export function frameOf(environment: Readonly<Record<string, string>>, stdin: string | Uint8Array): Uint8Array {
  const variables = Object.entries(environment).map(([key, value]) => `${key}=${value}\0`);
  return requestFrame(utf8.encode(variables.join("")), typeof stdin === "string" ? utf8.encode(stdin) : stdin);
}

/** Sends bytes as they are; rejects where the daemon closes without a whole reply, or answers with what is none. */
export function exchange(path: string, bytes: Uint8Array): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const reply = new ReplyBuffer();
  const socket = connect(path, () => socket.write(bytes));
  socket.on("error", reject);
  socket.on("close", () => reject(new Error("the daemon closed the connection without a reply")));
  socket.on("data", (chunk: Buffer) => {
    reply.push(chunk);
    if (reply.problem !== "") reject(new Error(reply.problem));
    if (!reply.complete) return;
    resolve({ exitStatus: reply.exitStatus, stdout: reply.stdout });
    socket.end();
  });
  return promise;
}
