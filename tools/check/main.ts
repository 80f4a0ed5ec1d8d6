// `npm run check`: types, lint, import directions, format, dead code, generated files. All steps run; any may fail.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { steps } from "./steps.ts";

const root = join(import.meta.dirname, "..", "..");
const failed: string[] = [];
for (const { name, command, remedy } of steps) {
  const startedMs = Date.now();
  const [program, ...args] = command;
  const run = spawnSync(program!, args, { cwd: root, encoding: "utf8" });
  const took = `${((Date.now() - startedMs) / 1000).toFixed(1)} s`;
  if (run.status === 0) {
    console.log(`ok    ${name} (${took})`);
    continue;
  }
  failed.push(name);
  console.log(
    `FAIL  ${name} (${took})\n${run.error?.message ?? ""}${run.stdout}${run.stderr}\n      remedy: ${remedy}`,
  );
}
console.log(failed.length === 0 ? "check passed" : `check failed: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);
