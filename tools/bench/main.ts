// `npm run bench` lists the benchmarks; `npm run bench -- NAME [arguments]` runs one and closes with its line of JSON.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "..", "..", "bench");
const suffix = ".bench.ts";
const names = readdirSync(folder)
  .filter((file) => file.endsWith(suffix))
  .map((file) => file.slice(0, -suffix.length))
  .sort();
const [name, ...args] = process.argv.slice(2);

if (name === undefined || name === "--help" || name === "-h") {
  console.log("npm run bench -- NAME\n");
  for (const each of names) console.log(`  ${each.padEnd(16)} ${aboutLine(each)}`);
  process.exit(0);
}
if (!names.includes(name)) {
  console.error(`bench: no benchmark "${name}"; there are: ${names.join(", ")}`);
  process.exit(2);
}
// Each in a process of its own, with the collector at hand: memory is measured after a full collection.
const run = spawnSync(process.execPath, ["--expose-gc", join(folder, `${name}${suffix}`), ...args], {
  stdio: "inherit",
});
process.exit(run.status ?? 1);

/** The first comment line of a benchmark says what it measures. */
function aboutLine(each: string): string {
  return readFileSync(join(folder, `${each}${suffix}`), "utf8")
    .split("\n", 1)[0]!
    .replace(/^\/\/\s*/, "");
}
