// The bytes between shim and daemon: one request and one reply per connection of a unix stream socket.
//
//   request   "HFQ" version=1 | u32 environment length | u32 stdin length  | environment | stdin
//   reply     "HFR" version=1 | u32 stdout length      | u8 exit status    | stdout
//
// Numbers are big-endian. The environment is KEY=VALUE in UTF-8, each ended by a NUL. The shim keeps its side open
// until it has the reply: a connection that ends early means that the runtime has killed the shim. Bytes after a frame
// are an error. This is the daemon's end; the shim's is src/cni/shim/wire.ts.
//
// Promised: the reader takes chunks cut anywhere, judges a length before it keeps a byte of that part, and never holds
// more than the limits. Not promised: that stdin and stdout are JSON; the CNI layer above parses them.
import { CodedError } from "../../net/coded-error.ts";
import { environmentLimitBytes, stdinLimitBytes, stdoutLimitBytes } from "./limits.ts";

export interface Request {
  /** Key: the variable's name, as CNI_COMMAND. One that the runtime did not set, or set to nothing, is missing. */
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: Uint8Array;
}

export interface Reply {
  /** What the shim exits with: 0 for success, else 1 to 255. */
  readonly exitStatus: number;
  readonly stdout: Uint8Array;
}

type FrameErrorCode =
  /** Not our protocol at all. */
  | "bad-magic"
  /** Our protocol, another version of it: shim and daemon are of different releases. */
  | "bad-version"
  | "too-large"
  | "bad-environment"
  | "bad-status"
  | "trailing-bytes"
  | "truncated";

/** What is wrong with a frame. The connection is of no use any more: answer if you can, then close it. */
export class FrameError extends CodedError<FrameErrorCode> {}

const version = 1;
const requestMagic = [0x48, 0x46, 0x51, version] as const;
const replyMagic = [0x48, 0x46, 0x52, version] as const;
const requestHeaderBytes = 12;
const replyHeaderBytes = 9;
/** The shim sends six; the rest is room for a later one. */
const variablesLimit = 32;
const namePattern = /^[A-Z_][A-Z0-9_]*$/;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function encodeReply({ exitStatus, stdout }: Reply): Uint8Array {
  if (!Number.isInteger(exitStatus) || exitStatus < 0 || exitStatus > 255) {
    throw new FrameError("bad-status", `the exit status ${exitStatus} is none: give 0 to 255.`);
  }
  assertWithin("stdout", stdout.length, stdoutLimitBytes);
  const frame = new Uint8Array(replyHeaderBytes + stdout.length);
  frame.set(replyMagic);
  new DataView(frame.buffer).setUint32(4, stdout.length);
  frame[8] = exitStatus;
  frame.set(stdout, replyHeaderBytes);
  return frame;
}

/** Of one connection: `push` what arrives until it gives the request; `end` when the other side has closed. */
export class RequestReader {
  /** Bytes of environment and stdin, as the header says; undefined while that is read. */
  #lengths: readonly [number, number] | undefined;
  /** Of the part being read, header or body. Invariant: their lengths add up to `#kept` < the length of the part. */
  #chunks: Uint8Array[] = [];
  #kept = 0;
  #request: Request | undefined;

  /** The request once it is whole, undefined before. A FrameError is final: push no more. The chunk is not kept. */
  push(chunk: Uint8Array): Request | undefined {
    let rest = chunk;
    if (this.#lengths === undefined) {
      const header = this.#fill(rest, requestHeaderBytes);
      assertMagic(header.part ?? this.#joined());
      if (header.part === undefined) return undefined;
      this.#lengths = lengthsIn(header.part);
      rest = header.rest;
    }
    if (this.#request === undefined) {
      const [variables, stdin] = this.#lengths;
      const body = this.#fill(rest, variables + stdin);
      if (body.part === undefined) return undefined;
      const environment = decodeVariables(body.part.subarray(0, variables));
      this.#request = { environment, stdin: body.part.subarray(variables) };
      rest = body.rest;
    }
    if (rest.length === 0) return this.#request;
    throw new FrameError("trailing-bytes", `${rest.length} bytes follow the request: one connection carries one.`);
  }

  /** The other side has closed: a FrameError where something is missing. */
  end(): void {
    if (this.#request !== undefined) return;
    const [variables, stdin] = this.#lengths ?? [0, 0];
    const place = this.#lengths
      ? `with ${this.#kept} of ${variables + stdin} bytes`
      : `${this.#kept} bytes into its header`;
    throw new FrameError("truncated", `the request ended ${place}: the other side closed the connection.`);
  }

  #fill(chunk: Uint8Array, wanted: number): { part: Uint8Array | undefined; rest: Uint8Array } {
    const taken = chunk.subarray(0, wanted - this.#kept);
    if (taken.length > 0) this.#chunks.push(new Uint8Array(taken)); // a Buffer's own slice() would be a view
    this.#kept += taken.length;
    const rest = chunk.subarray(taken.length);
    if (this.#kept < wanted) return { part: undefined, rest };
    const part = this.#joined();
    this.#chunks = [];
    this.#kept = 0;
    return { part, rest };
  }

  #joined(): Uint8Array {
    const joined = new Uint8Array(this.#kept);
    let offset = 0;
    for (const chunk of this.#chunks) {
      joined.set(chunk, offset);
      offset += chunk.length;
    }
    return joined;
  }
}

/** As early as its bytes allow: a stranger is sent away before it has sent a header. */
function assertMagic(header: Uint8Array): void {
  for (let index = 0; index < Math.min(4, header.length); index++) {
    if (header[index] === requestMagic[index]) continue;
    const bytes = Array.from(header.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0"));
    if (index < 3)
      throw new FrameError("bad-magic", `this is no request of Holdfast: its first bytes are ${bytes.join(" ")}.`);
    const message = `the request is of version ${header[index]}, this side speaks ${version}: run \`holdfast cni install\` of the daemon's release.`;
    throw new FrameError("bad-version", message);
  }
}

function lengthsIn(header: Uint8Array): [number, number] {
  const view = new DataView(header.buffer);
  const [variables, stdin] = [view.getUint32(4), view.getUint32(8)];
  assertWithin("environment", variables, environmentLimitBytes);
  assertWithin("stdin", stdin, stdinLimitBytes);
  return [variables, stdin];
}

function assertWithin(what: string, bytes: number, limitBytes: number): void {
  if (bytes <= limitBytes) return;
  throw new FrameError("too-large", `${what} has ${bytes} bytes; at most ${limitBytes} are taken. Make it shorter.`);
}

function decodeVariables(bytes: Uint8Array): Readonly<Record<string, string>> {
  if (bytes.length === 0) return {};
  const lines = textOf(bytes).split("\0");
  const bad = (why: string) => new FrameError("bad-environment", why);
  if (lines.pop() !== "") throw bad("the last variable is not ended by a NUL.");
  if (lines.length > variablesLimit)
    throw bad(`${lines.length} variables are sent; at most ${variablesLimit} are taken.`);
  const environment = new Map<string, string>();
  for (const line of lines) {
    const split = line.indexOf("=");
    const key = line.slice(0, Math.max(split, 0));
    if (!namePattern.test(key)) throw bad(`${JSON.stringify(key)} is no name of a variable: use A to Z, 0 to 9 and _.`);
    if (environment.has(key)) throw bad(`${key} is there twice: send it once.`);
    environment.set(key, line.slice(split + 1));
  }
  return Object.fromEntries(environment);
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    const why = "the environment is not UTF-8: the runtime set a CNI_ variable wrongly.";
    throw new FrameError("bad-environment", why, { cause });
  }
}
