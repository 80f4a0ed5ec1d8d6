// `holdfast` as a person runs it: a process, what it printed, and how it ended.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const root = join(import.meta.dirname, "..", "..");

export async function command(...argv: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [join(root, "bin", "holdfast.ts"), ...argv], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: code as number | null, out, err };
}

/** The same, left running until it is disposed of; killed then. */
export function background(...argv: string[]): AsyncDisposable {
  const child = spawn(process.execPath, [join(root, "bin", "holdfast.ts"), ...argv], { stdio: "ignore" });
  const ended = once(child, "exit");
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
