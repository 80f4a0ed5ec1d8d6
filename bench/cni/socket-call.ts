// A call without a process: the shim's frame on the daemon's socket. Its time is the daemon's, as a caller sees it.
import { connect } from "node:net";

import { ReplyBuffer } from "../../src/cni/shim/wire.ts";
import { frameOf } from "../../src/cni/socket-call.ts";
import { type Attachment, type Command, environmentOf } from "./attachment.ts";
import { callLimitMs, readReply, type Reply } from "./reply.ts";

export function socketCall(path: string, command: Command, attachment: Attachment, config: string): Promise<Reply> {
  return exchange(path, environmentOf(command, attachment), config);
}

/** Whether the daemon says that it can give addresses. */
export async function socketStatus(path: string): Promise<boolean> {
  const ipam = { type: "holdfast", range: "192.0.2.0/24" };
  const config = JSON.stringify({ cniVersion: "1.1.0", name: "status", type: "macvlan", ipam });
  return (await exchange(path, { CNI_COMMAND: "STATUS", CNI_PATH: "/opt/cni/bin" }, config)).problem === undefined;
}

function exchange(path: string, environment: Readonly<Record<string, string>>, config: string): Promise<Reply> {
  const startedMs = performance.now();
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const reply = new ReplyBuffer();
  const socket = connect(path);
  const tookMs = () => performance.now() - startedMs;
  const fail = (problem: string) => {
    socket.destroy();
    resolve({ tookMs: tookMs(), addresses: [], problem });
  };
  socket.setTimeout(callLimitMs, () => fail("no answer in time"));
  socket.on("error", (error) => fail(error.message));
  socket.on("close", () => fail("the daemon closed the connection")); // without effect where it was answered
  socket.on("data", (chunk) => {
    reply.push(chunk);
    if (reply.problem !== "") fail(reply.problem);
    if (!reply.complete) return;
    resolve(readReply(tookMs(), reply.exitStatus, Buffer.from(reply.stdout).toString("utf8")));
    socket.destroy();
  });
  socket.write(frameOf(environment, config));
  return promise;
}
