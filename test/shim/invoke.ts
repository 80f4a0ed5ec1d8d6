// Starts a shim as a runtime does: an environment, stdin, and what it prints and exits with.
import { type ChildProcess, spawn } from "node:child_process";

export interface Invocation {
  readonly env: Readonly<Record<string, string>>;
  /** Undefined: stdin stays open and empty. */
  readonly stdin?: string | Uint8Array;
  /** A command that starts it. */
  readonly under?: readonly string[];
}

export interface Ended {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** One that is still running, for tests that do something to it meanwhile. */
export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;

  constructor(path: string, { env, stdin, under = [] }: Invocation) {
    // Nothing of the test runner's own environment: a runtime has other variables, and NODE_OPTIONS is not among them.
    // Nor the spool of a daemon that this machine may run for its own pods.
    const own = { PATH: "/usr/bin:/bin", HOLDFAST_SPOOL: "/dev/null/spool" };
    const command = [...under, path];
    const child = spawn(command[0]!, command.slice(1), { env: { ...own, ...env }, stdio: ["pipe", "pipe", "pipe"] });
    this.child = child;
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
    child.stdin.on("error", () => {}); // a shim may answer without reading it
    if (stdin !== undefined) child.stdin.end(stdin);
    this.ended = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (status, signal) => {
        resolve({ status, signal, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() });
      });
    });
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }
}

export function invoke(path: string, invocation: Invocation): Promise<Ended> {
  return new Running(path, invocation).ended;
}
