// Runs a program to its end and keeps what it said.
import { spawn } from "node:child_process";

export interface Ran {
  /** Null where a signal ended it. */
  readonly status: number | null;
  /** Standard output and standard error as they came, the last 64 KiB: a compiler's last words are what matters. */
  readonly words: string;
}

const wordsLimit = 64 * 1024;

/** Rejects where the program cannot be started, and with the signal's reason. */
export async function runCommand(
  command: readonly [string, ...string[]],
  options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string; readonly signal?: AbortSignal } = {},
): Promise<Ran> {
  const [program, ...args] = command;
  const child = spawn(program, args, {
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...(options.signal && { signal: options.signal }),
  });
  let words = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      words = (words + text).slice(-wordsLimit);
    });
  }
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { status, words };
}

export function lastLines(words: string): string {
  return words.trim().split("\n").slice(-12).join("\n");
}
