// The bytes between shim and daemon: one request and one reply per connection of a unix stream socket.
//
//   request   "HFQ" version=1 | u32 environment length | u32 stdin length  | environment | stdin
//   reply     "HFR" version=1 | u32 stdout length      | u8 exit status    | stdout
//
// Numbers are big-endian. The environment is KEY=VALUE in UTF-8, each ended by a NUL. The shim does not close its side before it
// has the reply: a connection that ends early means that the runtime has killed the shim. Bytes after a frame are an error.
//
// Promised: the readers take chunks cut anywhere, judge a length before they keep a byte of what it announces, and never hold
// more than the limits. Not promised: that stdin and stdout are JSON; whoever speaks CNI looks into them.
import { FrameError } from "./frame-error.ts";
import { FrameReader } from "./frame-reader.ts";
import { environmentLimitBytes, stdinLimitBytes, stdoutLimitBytes } from "./limits.ts";
import { decodeVariables, encodeVariables } from "./variables.ts";

export interface Request {
  /** Key: the variable's name, as CNI_COMMAND. One that the runtime did not set, or set to nothing, is missing. */
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: Uint8Array;
}

export interface Reply {
  /** What the shim exits with: 0 for success, else 1 to 255. */
  readonly exitStatus: number;
  /** What the shim prints, byte for byte. */
  readonly stdout: Uint8Array;
}

const version = 1;
const requestMagic = [0x48, 0x46, 0x51, version] as const;
const replyMagic = [0x48, 0x46, 0x52, version] as const;
const requestHeaderBytes = 12;
const replyHeaderBytes = 9;

export function encodeRequest({ environment, stdin }: Request): Uint8Array {
  const variables = encodeVariables(environment);
  assertWithin("environment", variables.length, environmentLimitBytes);
  assertWithin("stdin", stdin.length, stdinLimitBytes);
  const frame = new Uint8Array(requestHeaderBytes + variables.length + stdin.length);
  frame.set(requestMagic);
  const view = new DataView(frame.buffer);
  view.setUint32(4, variables.length);
  view.setUint32(8, stdin.length);
  frame.set(variables, requestHeaderBytes);
  frame.set(stdin, requestHeaderBytes + variables.length);
  return frame;
}

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
export class RequestReader extends FrameReader<Request> {
  constructor() {
    super({ name: "request", magic: requestMagic, headerBytes: requestHeaderBytes });
  }

  protected bodyBytes(header: DataView): number {
    const variables = header.getUint32(4);
    const stdin = header.getUint32(8);
    assertWithin("environment", variables, environmentLimitBytes);
    assertWithin("stdin", stdin, stdinLimitBytes);
    return variables + stdin;
  }

  protected decode(header: DataView, body: Uint8Array): Request {
    const variables = header.getUint32(4);
    return { environment: decodeVariables(body.subarray(0, variables)), stdin: body.subarray(variables) };
  }
}

/** Of one connection: `push` what arrives until it gives the reply; `end` when the other side has closed. */
export class ReplyReader extends FrameReader<Reply> {
  constructor() {
    super({ name: "reply", magic: replyMagic, headerBytes: replyHeaderBytes });
  }

  protected bodyBytes(header: DataView): number {
    const stdout = header.getUint32(4);
    assertWithin("stdout", stdout, stdoutLimitBytes);
    return stdout;
  }

  protected decode(header: DataView, body: Uint8Array): Reply {
    return { exitStatus: header.getUint8(8), stdout: body };
  }
}

function assertWithin(what: string, bytes: number, limitBytes: number): void {
  if (bytes <= limitBytes) return;
  throw new FrameError("too-large", `${what} has ${bytes} bytes; at most ${limitBytes} are taken. Make it shorter.`);
}
