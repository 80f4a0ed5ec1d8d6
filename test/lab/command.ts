// One command, run to its end: its output, or an error with its own words.
import { spawn } from "node:child_process";

export interface CommandOptions {
  readonly input?: string | Uint8Array;
  readonly signal?: AbortSignal | undefined;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

export interface CommandResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code = "CommandFailed";
  readonly result: CommandResult;

  constructor(command: readonly string[], result: CommandResult) {
    super(`${command.join(" ")} ended with ${result.status}: ${(result.stderr || result.stdout).trim()}`);
    this.result = result;
  }
}

/** Output beyond this is cut: 16 MiB hold a list of 10,000 pods as JSON. */
const outputLimit = 16 * 1024 * 1024;

/** Runs it and reports how it ended, whatever the status. */
export function attempt(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const [program = "", ...args] = command;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["pipe", "pipe", "pipe"],
      ...(options.cwd !== undefined && { cwd: options.cwd }),
      ...(options.env && { env: options.env }),
      ...(options.signal && { signal: options.signal, killSignal: "SIGKILL" as const }),
    });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        if (output[name].length < outputLimit) output[name] += text;
      });
    }
    child.stdin.on("error", () => {}); // it may end without reading its input
    child.stdin.end(options.input ?? "");
    child.once("error", (cause) => reject(new Error(`cannot run ${program}: ${cause.message}`, { cause })));
    child.once("close", (status) => resolve({ status, ...output }));
  });
}

/** Runs it and returns its standard output; any status but 0 is a CommandError. */
export async function run(command: readonly string[], options: CommandOptions = {}): Promise<string> {
  const result = await attempt(command, options);
  if (result.status !== 0) throw new CommandError(command, result);
  return result.stdout;
}

/** A word of a shell. */
export const quote = (word: string) => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** Several commands as one shell script that stops at the first failure: one process instead of twenty. */
export function script(commands: readonly (readonly string[])[]): string[] {
  return ["sh", "-ec", commands.map((words) => words.map(quote).join(" ")).join("\n")];
}
