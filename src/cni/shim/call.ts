// One call of the plugin, before and after the socket: the request, and what becomes of the outcome. Pure; both builds
// share it. Written in the subset that scriptc compiles (no destructuring, no regular expressions, no JSON).
import {
  defaultSocket,
  defaultSpool,
  deleteWaitMs,
  environmentLimitBytes,
  passedVariables,
  replyWaitMs,
  stdinLimitBytes,
} from "../protocol/limits.ts";
import { codes, failure, type Outcome, versionReply } from "./words.ts";

export interface Call {
  readonly command: string;
  /** KEY=VALUE, each ended by a NUL. */
  readonly variables: Uint8Array;
  readonly socket: string;
  /** Folder for a DEL that no daemon has done. */
  readonly spool: string;
  readonly waitMs: number;
  /** When the process is ended where stdin, stdout or the disk hang. */
  readonly hangMs: number;
}

/** sun_path of struct sockaddr_un has 108 bytes, the last of them a NUL. */
const socketPathLimitBytes = 107;

/** What is beside the executable: files that hold the path of the socket, and of the spool. */
export const socketFile = "holdfast.socket";
export const spoolFile = "holdfast.spool";

/** Six of them are below the limit of all. */
const deletePartBytes = 8 * 1024;

/** After its wait. 112 s in all is below any runtime's own limit; a DEL waits less, and has a disk to write to. */
const hangMs = 2000;
const diskMs = 10_000;

/** `get` reads the environment; `beside` what a file beside the executable says, "" without one. */
export function callOf(get: (name: string) => string, beside: (name: string) => string): Call {
  const command = get("CNI_COMMAND");
  const waitMs = waitOf(get("HOLDFAST_WAIT_MS"), command === "DEL" ? deleteWaitMs : replyWaitMs);
  let text = "";
  for (const name of passedVariables) {
    const value = get(name);
    // A DEL goes by container and interface, and never fails because of the rest.
    const isLeftOut = command === "DEL" && new TextEncoder().encode(value).length > deletePartBytes;
    if (value !== "" && !isLeftOut) text += `${name}=${value}\0`;
  }
  return {
    command,
    variables: new TextEncoder().encode(text),
    socket: firstOf(get("HOLDFAST_SOCKET"), beside(socketFile).trim(), defaultSocket),
    spool: firstOf(get("HOLDFAST_SPOOL"), beside(spoolFile).trim(), defaultSpool),
    waitMs,
    hangMs: waitMs + (command === "DEL" ? diskMs : hangMs),
  };
}

/** The answer where no daemon is needed, else undefined. Without a command stdin is not read: it may be a terminal. */
export function answerWithoutStdin(call: Call): Outcome | undefined {
  if (call.command !== "") return undefined;
  const sentence =
    "CNI_COMMAND is missing: this is a CNI plugin, which a container runtime starts. For the command line use `holdfast --help` of the Holdfast release.";
  return failure(new Uint8Array(0), codes.badEnvironment, sentence);
}

export function answerWithoutDaemon(call: Call, stdin: Uint8Array): Outcome | undefined {
  if (stdin.length > stdinLimitBytes) {
    const sentence = `the configuration on stdin has more than ${stdinLimitBytes} bytes, which is the most that is taken: make it shorter.`;
    return failure(stdin, codes.badConfiguration, sentence);
  }
  if (call.command === "VERSION") return versionReply(stdin);
  if (call.variables.length > environmentLimitBytes) {
    const sentence = `the CNI_ variables have ${call.variables.length} bytes together; at most ${environmentLimitBytes} are taken: shorten CNI_ARGS or CNI_PATH.`;
    return failure(stdin, codes.badEnvironment, sentence);
  }
  const pathBytes = new TextEncoder().encode(call.socket).length;
  if (pathBytes > socketPathLimitBytes || call.socket.includes("\0")) {
    const sentence = `the path of the socket, ${call.socket}, has ${pathBytes} bytes; the kernel takes ${socketPathLimitBytes}, none of them NUL: set a shorter one with \`holdfast cni install --socket\` or HOLDFAST_SOCKET.`;
    return failure(stdin, codes.badEnvironment, sentence);
  }
  return undefined;
}

/** Try again later; for STATUS the code that says so of the plugin itself. */
export function unavailable(call: Call, stdin: Uint8Array, sentence: string): Outcome {
  return failure(stdin, call.command === "STATUS" ? codes.notAvailable : codes.tryAgainLater, sentence);
}

/** Why a connection could not be made. */
export function unreachable(call: Call, socketExists: boolean): string {
  const remedy = "start `holdfast node` on this node (in a cluster: its DaemonSet's pod), then try again.";
  if (!socketExists) {
    return `the Holdfast daemon is not there: no socket ${call.socket}; ${remedy}`;
  }
  return `the Holdfast daemon does not answer on ${call.socket}: nobody listens there, or this process may not connect; ${remedy}`;
}

export function late(call: Call): string {
  return `the Holdfast daemon has not answered on ${call.socket} within ${call.waitMs} ms: look at the log of \`holdfast node\`. What it has recorded stays; the same request gives the same address.`;
}

export function lost(call: Call): string {
  return `the Holdfast daemon on ${call.socket} closed the connection before it had answered: it was stopped or restarted. What it has recorded stays; the same request gives the same address. Try again.`;
}

/** `problem` is the ReplyBuffer's. */
export function foreign(call: Call, problem: string): string {
  return `what listens on ${call.socket} is no daemon that this plugin can talk to: ${problem}`;
}

function waitOf(text: string, longestMs: number): number {
  const wait = Number(text);
  return text !== "" && wait >= 1 && wait < longestMs ? Math.floor(wait) : longestMs;
}

function firstOf(first: string, second: string, third: string): string {
  if (first !== "") return first;
  return second !== "" ? second : third;
}
