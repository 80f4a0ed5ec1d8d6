// A call as a runtime makes it: a new process, the configuration on its stdin, the result on its stdout. Timed from
// before the fork until the process has ended and its output is read.
import { spawn } from "node:child_process";

import { type Attachment, type Command, environmentOf } from "./attachment.ts";
import { callLimitMs, readReply, type Reply } from "./reply.ts";

export interface Program {
  readonly file: string;
  /** Beside the variables of CNI. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** More of what it says is not read: a stack trace fits. */
const complaintLimit = 2000;

export function execCall(program: Program, command: Command, attachment: Attachment, config: string): Promise<Reply> {
  const startedMs = performance.now();
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const env = { ...environmentOf(command, attachment), PATH: "/usr/bin:/bin", ...program.environment };
  const child = spawn(program.file, [], { env, stdio: ["pipe", "pipe", "pipe"] });
  const limit = setTimeout(() => child.kill("SIGKILL"), callLimitMs);
  let printed = "";
  let complaint = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (complaint.length < complaintLimit) complaint += text;
  });
  child.stdin.on("error", () => {}); // it may end without reading
  child.stdin.end(config);
  child.once("error", (error) => (complaint = error.message));
  child.once("close", (status) => {
    clearTimeout(limit);
    resolve(readReply(performance.now() - startedMs, status, printed, complaint));
  });
  return promise;
}
