// The door every npm script goes through: `node enter.mjs <script.ts> [arguments]`.
//
// It is plain JavaScript, because on a fresh clone the only Node is the machine's own, which may be too old to run
// TypeScript. It installs the packages when the lock file changed, then hands over to the Node that the lock pins.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { ensurePackages } from "./packages.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const [script, ...rest] = process.argv.slice(2);
if (script === undefined) {
  console.error("usage: node tools/bootstrap/enter.mjs <script.ts> [arguments]");
  process.exit(2);
}

try {
  await ensurePackages(root);
} catch (error) {
  console.error(`holdfast: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}

const node = join(root, "node_modules", ".bin", "node");
if (!existsSync(node)) {
  console.error(
    `holdfast: no pinned Node for ${process.platform}/${process.arch}: Holdfast runs on Linux, x64 or arm64. ` +
      `On those, remove node_modules and try again without --omit=optional.`,
  );
  process.exit(1);
}

const child = spawn(node, [join(root, script), ...rest], { stdio: "inherit" });
// A terminal sends Ctrl-C to the whole group: the child decides what it means, this process waits for it. What is sent
// to this pid alone (a supervisor's TERM or HUP) is passed on.
process.on("SIGINT", () => {});
for (const signal of /** @type {const} */ (["SIGTERM", "SIGHUP"])) process.on(signal, () => child.kill(signal));
// npm that is killed tells nobody: what it started would go on without it. Between the two stands a shell.
const above = () => {
  try {
    return `${process.ppid} ${/\) \S (\d+)/.exec(readFileSync(`/proc/${process.ppid}/stat`, "latin1"))?.[1]}`;
  } catch {
    return "";
  }
};
const parents = above();
if (process.env["npm_lifecycle_event"] !== undefined && parents !== "") {
  setInterval(() => !["", parents].includes(above()) && child.kill("SIGTERM"), 1000).unref();
}
child.on("error", (error) => {
  console.error(`holdfast: cannot start ${node}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
