// The shim's end of the protocol (../protocol/frame.ts is the contract; tests hold each end to the other). Written in
// the subset that scriptc compiles: no exceptions of our own, no generics.
import { stdoutLimitBytes } from "../protocol/limits.ts";

const requestHeaderBytes = 12;
const replyHeaderBytes = 9;
const version = 1;

/** Lengths are within the limits already. */
export function requestFrame(variables: Uint8Array, stdin: Uint8Array): Uint8Array {
  const frame = new Uint8Array(requestHeaderBytes + variables.length + stdin.length);
  frame[0] = 0x48;
  frame[1] = 0x46;
  frame[2] = 0x51;
  frame[3] = version;
  putNumber(frame, 4, variables.length);
  putNumber(frame, 8, stdin.length);
  frame.set(variables, requestHeaderBytes);
  frame.set(stdin, requestHeaderBytes + variables.length);
  return frame;
}

/** Joins the reply from pieces cut anywhere. Invariant: never more than the header and an announced, judged body. */
export class ReplyBuffer {
  /** Why it cannot be a reply, as a sentence; "" while it can. */
  problem = "";
  complete = false;
  exitStatus = 0;
  stdout: Uint8Array = new Uint8Array(0);
  private header: Uint8Array = new Uint8Array(replyHeaderBytes);
  private filled = 0;

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length && this.filled < replyHeaderBytes && this.problem === "") {
      this.header[this.filled] = chunk[at] ?? 0;
      this.filled += 1;
      at += 1;
      if (this.filled === replyHeaderBytes) this.judgeHeader();
    }
    if (this.problem !== "" || this.filled < replyHeaderBytes) return;
    const got = this.filled - replyHeaderBytes;
    const rest = chunk.subarray(at);
    if (got + rest.length > this.stdout.length) {
      this.problem = "more follows its reply than it announced.";
      return;
    }
    this.stdout.set(rest, got);
    this.filled += rest.length;
    this.complete = this.filled === replyHeaderBytes + this.stdout.length;
  }

  private judgeHeader(): void {
    const header = this.header;
    if (header[0] !== 0x48 || header[1] !== 0x46 || header[2] !== 0x52) {
      this.problem = "it does not speak Holdfast's protocol; another program listens there.";
      return;
    }
    if (header[3] !== version) {
      this.problem = `it speaks version ${header[3] ?? 0} of the protocol, this plugin ${version}: run \`holdfast cni install\` of its release.`;
      return;
    }
    const length = number(header, 4);
    if (length > stdoutLimitBytes) {
      this.problem = `its reply has ${length} bytes; at most ${stdoutLimitBytes} are taken.`;
      return;
    }
    this.exitStatus = header[8] ?? 0;
    this.stdout = new Uint8Array(length);
  }
}

function putNumber(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = Math.floor(value / 0x1000000) % 0x100;
  bytes[at + 1] = Math.floor(value / 0x10000) % 0x100;
  bytes[at + 2] = Math.floor(value / 0x100) % 0x100;
  bytes[at + 3] = value % 0x100;
}

function number(bytes: Uint8Array, at: number): number {
  const high = (bytes[at] ?? 0) * 0x1000000 + (bytes[at + 1] ?? 0) * 0x10000;
  return high + (bytes[at + 2] ?? 0) * 0x100 + (bytes[at + 3] ?? 0);
}
