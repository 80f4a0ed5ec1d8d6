// The shim on plain Node, for hosts where the native executable does not run: the same call and words, another way to
// the socket. tools/shim bundles it into one file that needs only Node. It starts in some 40 ms, all of them Node's.
import { existsSync, readFileSync, realpathSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";

import { stdinLimitBytes } from "../protocol/limits.ts";
import {
  answerWithoutDaemon,
  answerWithoutStdin,
  type Call,
  callOf,
  foreign,
  late,
  lost,
  unavailable,
  unreachable,
} from "./call.ts";
import { settled } from "./spool.ts";
import { ReplyBuffer, requestFrame } from "./wire.ts";
import type { Outcome } from "./words.ts";

void run();

async function run(): Promise<never> {
  const call = callOf((name) => process.env[name] ?? "", textBeside);
  const deadline = AbortSignal.timeout(call.waitMs);
  // Ends the process where stdin or stdout hang, which nothing else would.
  setTimeout(() => process.exit(1), call.hangMs);
  const outcome = await answer(call, deadline);
  writeAll(outcome.stdout);
  process.exit(outcome.exitStatus);
}

async function answer(call: Call, deadline: AbortSignal): Promise<Outcome> {
  const early = answerWithoutStdin(call);
  if (early !== undefined) return early;
  const stdin = await readStdin();
  return settled(call, stdin, answerWithoutDaemon(call, stdin) ?? (await exchange(call, stdin, deadline)));
}

function exchange(call: Call, stdin: Uint8Array, deadline: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const giveUp = (sentence: string) => resolve(unavailable(call, stdin, sentence));
    const reply = new ReplyBuffer();
    let connected = false;
    const socket = connect({ path: call.socket });
    socket.once("connect", () => {
      connected = true;
      socket.write(requestFrame(call.variables, stdin));
    });
    socket.on("data", (chunk: Buffer) => {
      reply.push(chunk);
      if (reply.problem !== "") giveUp(foreign(call, reply.problem));
      else if (reply.complete) resolve({ exitStatus: reply.exitStatus, stdout: reply.stdout });
    });
    socket.on("error", () => giveUp(connected ? lost(call) : unreachable(call, existsSync(call.socket))));
    socket.on("close", () => giveUp(lost(call)));
    if (deadline.aborted) giveUp(late(call)); // stdin took all of the wait
    deadline.addEventListener("abort", () => giveUp(late(call)), { once: true });
  });
}

/** One byte more than is allowed tells that it is too much. */
async function readStdin(): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > stdinLimitBytes) break;
    }
  } catch {
    // As at its end: what is missing shows in what is there.
  }
  return Buffer.concat(chunks);
}

/** Where nobody reads any more there is nobody to tell. */
function writeAll(bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) {
    try {
      written += writeSync(1, bytes, written, bytes.length - written);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "EAGAIN") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      else if (code !== "EINTR") process.exit(1);
    }
  }
}

/** Beside the file that was started, links followed. */
function textBeside(name: string): string {
  try {
    return readFileSync(join(dirname(realpathSync(process.argv[1] ?? "")), name), "utf8");
  } catch {
    return "";
  }
}
