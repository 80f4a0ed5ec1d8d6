// The shim as a native executable: blocking calls, one after another. Compiled by scriptc (tools/shim), which binds the
// functions below to libc by libc.json; nothing else runs this file.
//
// libc's errno is out of reach. So a failed call is repeated a few times, which is right for EINTR and harmless
// otherwise, and the clock tells a timeout from a loss.
import { existsSync, readFileSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";

import { stdinLimitBytes } from "../protocol/limits.ts";
import {
  answerWithoutDaemon,
  answerWithoutStdin,
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

declare function libcSocket(domain: number, type: number, protocol: number): number;
declare function libcConnect(fd: number, address: Uint8Array): number;
declare function libcSetsockopt(fd: number, level: number, option: number, value: Uint8Array): number;
declare function libcSend(fd: number, bytes: Uint8Array, flags: number): number;
declare function libcUsleep(microseconds: number): number;
declare function libcAlarm(seconds: number): number;

const addressFamilyUnix = 1;
const streamSocket = 1;
const socketLevel = 1;
const receiveTimeout = 20;
const sendTimeout = 21;
/** A closed connection must not end the process with a signal: the runtime would see no reason. */
const messageNoSignal = 0x4000;
/** A call that fails for good fails as often, in about 50 us. */
const triesLimit = 16;
const chunkBytes = 64 * 1024;
/** The kernel takes this much in one step, and its timeout is for a step, not for a call. */
const pieceBytes = 16 * 1024;

const startedMs = performance.now();
const call = callOf(variable, textBeside);
// Behind the deadline of the reply: ends the process where stdin or stdout hang, which nothing else would.
libcAlarm(Math.ceil(call.hangMs / 1000));
const end = answer();
writeAll(end.stdout);
process.exit(end.exitStatus);

function answer(): Outcome {
  const early = answerWithoutStdin(call);
  if (early !== undefined) return early;
  const stdin = readStdin();
  return settled(call, stdin, answerWithoutDaemon(call, stdin) ?? exchange(stdin));
}

function exchange(stdin: Uint8Array): Outcome {
  const fd = libcSocket(addressFamilyUnix, streamSocket, 0);
  setTimeouts(fd);
  if (!connect(fd)) {
    const why = expired() ? late(call) : unreachable(call, existsSync(call.socket));
    return unavailable(call, stdin, why);
  }
  if (!sendAll(fd, requestFrame(call.variables, stdin))) {
    // The daemon may have answered and closed without reading all of it: what it said counts.
    if (expired()) return unavailable(call, stdin, late(call));
  }
  return receive(fd, stdin);
}

function receive(fd: number, stdin: Uint8Array): Outcome {
  const reply = new ReplyBuffer();
  const chunk = new Uint8Array(chunkBytes);
  while (!reply.complete && reply.problem === "") {
    const got = readSome(fd, chunk);
    if (got <= 0) return unavailable(call, stdin, expired() ? late(call) : lost(call));
    reply.push(chunk.subarray(0, got));
    setTimeouts(fd);
  }
  if (reply.problem !== "") {
    return unavailable(call, stdin, foreign(call, reply.problem));
  }
  return { exitStatus: reply.exitStatus, stdout: reply.stdout };
}

function connect(fd: number): boolean {
  const path = new TextEncoder().encode(call.socket);
  // struct sockaddr_un: the family in the machine's order, little-endian wherever scriptc compiles to; path; NUL.
  const address = new Uint8Array(2 + path.length + 1);
  address[0] = addressFamilyUnix;
  address.set(path, 2);
  for (let tries = 0; tries < triesLimit && !expired(); tries++) {
    if (libcConnect(fd, address) === 0) return true;
  }
  return false;
}

function sendAll(fd: number, bytes: Uint8Array): boolean {
  let sent = 0;
  let failures = 0;
  while (sent < bytes.length) {
    const count = libcSend(fd, bytes.subarray(sent, Math.min(sent + pieceBytes, bytes.length)), messageNoSignal);
    if (count > 0) sent += count;
    else failures += 1;
    if (failures >= triesLimit || expired()) return false;
    setTimeouts(fd);
  }
  return true;
}

/** What is left of the wait, for the calls that follow. A timeout of 0 would mean none. */
function setTimeouts(fd: number): void {
  const leftMs = Math.max(1, Math.floor(call.waitMs - (performance.now() - startedMs)));
  const seconds = Math.floor(leftMs / 1000);
  const microseconds = (leftMs % 1000) * 1000;
  // struct timeval: two numbers of 8 bytes, little-endian; both are below 2^24.
  const value = new Uint8Array(16);
  value[0] = seconds % 256;
  value[1] = Math.floor(seconds / 256) % 256;
  value[8] = microseconds % 256;
  value[9] = Math.floor(microseconds / 256) % 256;
  value[10] = Math.floor(microseconds / 65536) % 256;
  libcSetsockopt(fd, socketLevel, receiveTimeout, value);
  libcSetsockopt(fd, socketLevel, sendTimeout, value);
}

function expired(): boolean {
  return performance.now() - startedMs >= call.waitMs;
}

/** Bytes read; 0 at the end, after an error and at the deadline. */
function readSome(fd: number, chunk: Uint8Array): number {
  while (!expired()) {
    try {
      return readSync(fd, chunk, 0, chunk.length, null);
    } catch (error) {
      const code = codeOf(error);
      if (code === "EAGAIN") libcUsleep(1000);
      else if (!isInterruption(code)) return 0;
    }
  }
  return 0;
}

/** One byte more than is allowed tells that it is too much. */
function readStdin(): Uint8Array {
  let bytes = new Uint8Array(chunkBytes);
  let filled = 0;
  while (filled <= stdinLimitBytes) {
    const got = readSome(0, bytes.subarray(filled));
    if (got <= 0) break;
    filled += got;
    if (filled === bytes.length) {
      const larger = new Uint8Array(bytes.length * 2);
      larger.set(bytes);
      bytes = larger;
    }
  }
  return bytes.subarray(0, filled);
}

/** Where nobody reads any more there is nobody to tell. */
function writeAll(bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) {
    try {
      written += writeSync(1, bytes, written, bytes.length - written);
    } catch (error) {
      const code = codeOf(error);
      if (code === "EAGAIN") libcUsleep(1000);
      else if (!isInterruption(code)) process.exit(1);
    }
  }
}

/** Stopped and continued within a call that has a timeout. scriptc has no name for EINTR and gives its number. */
function isInterruption(code: string): boolean {
  return code === "EINTR" || code === "E4";
}

function codeOf(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? "") : "";
}

function variable(name: string): string {
  return process.env[name] ?? "";
}

function textBeside(name: string): string {
  try {
    return readFileSync(`${dirname(process.execPath)}/${name}`, "utf8");
  } catch {
    return "";
  }
}
