// How the lab starts our programs: the checkout's sources on this test's Node, without a test runner's settings.
import { join } from "node:path";

const main = join(import.meta.dirname, "..", "..", "..", "bin", "holdfast.ts");

/** `./holdfast ...` without the launcher's look at the lock file: a test has installed what it needs. */
export function holdfastCommand(...args: readonly string[]): string[] {
  // Loaders and inspectors of a test runner are not for these processes.
  return ["env", "-u", "NODE_OPTIONS", process.execPath, main, ...args];
}
