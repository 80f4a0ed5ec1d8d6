// Whether a plugin runs on this machine: asked for its versions, as runtimes do first.
import { spawnSync } from "node:child_process";

/** A Node that starts on a busy machine takes some seconds at most. */
const patienceMs = 30_000;

/** Undefined where it runs, else why not. */
export function whyNotRunning(path: string): string | undefined {
  const { error, status, signal, stdout, stderr } = spawnSync(path, [], {
    env: { CNI_COMMAND: "VERSION" },
    input: "{}",
    encoding: "utf8",
    timeout: patienceMs,
  });
  if (error !== undefined) return error.message;
  if (status === 0 && stdout.includes('"supportedVersions"')) return undefined;
  const end = signal === null ? `status ${status}` : `signal ${signal}`;
  return `it ended with ${end}${stderr === "" ? "" : `: ${stderr.trim().slice(0, 400)}`}`;
}
