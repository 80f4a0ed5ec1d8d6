// `npm test`: every suite this machine can run, and a plain word about those it cannot.
//
//   npm test                            everything
//   npm test -- src/net                 the files whose path contains src/net
//   npm test -- src/net -t "RFC 5952"   and only the tests whose name matches
//   npm test -- --list                  runs nothing; names each test file and its suite
import { globSync } from "node:fs";
import { join } from "node:path";

import { missingFor } from "./requirements.ts";
import { type Suite, suiteOf, suites } from "./suites.ts";
import { closingLine, inCi, nothing, plusTotals, type Skip, verdict } from "./tally.ts";
import { runVitest } from "./vitest.ts";

const root = join(import.meta.dirname, "..", "..");
const log = (line: string) => console.error(`holdfast: ${line}`);
const { paths, flags } = parse(process.argv.slice(2));

if (flags.includes("--help") || flags.includes("-h")) {
  console.log("npm test [-- PATH... [-t NAME]]   runs every suite, or the test files whose path contains PATH");
  console.log("npm test -- --list [PATH...]      runs nothing; names each test file and its suite\n");
  for (const suite of suites) console.log(`  ${suite.name.padEnd(9)} ${suite.about}`);
  process.exit(0);
}

const testFiles = globSync(["{src,test,tools,bench}/**/*.test.ts"], { cwd: root }).sort();
const unknown = paths.filter((path) => !testFiles.some((file) => file.includes(path)));
if (unknown.length > 0) {
  log(`no test file has ${unknown.join(", ")} in its path (a flag's value is written with =, as in --bail=1)`);
  process.exit(2);
}

/** Suite -> its test files that were asked for. */
const chosen = new Map<Suite, string[]>();
for (const file of testFiles) {
  if (paths.length > 0 && !paths.some((path) => file.includes(path))) continue;
  const suite = suiteOf(file);
  if (suite === undefined)
    throw new Error(`${file} belongs to no suite: call it NAME.SUITE.test.ts, with a suite of tools/test/suites.ts.`);
  chosen.set(suite, [...(chosen.get(suite) ?? []), file]);
}
if (flags.includes("--list")) {
  for (const [suite, files] of chosen) for (const file of files) console.log(`${suite.name.padEnd(9)} ${file}`);
  process.exit(0);
}

const skips: Skip[] = [];
/** How many files run at once -> the flags for it, and the files. */
const groups = {
  together: { flags: [] as string[], files: [] as string[] },
  crowd: { flags: ["--maxWorkers=6"], files: [] as string[] },
  few: { flags: ["--maxWorkers=2"], files: [] as string[] },
  alone: { flags: ["--no-file-parallelism"], files: [] as string[] },
};
/** One after the other; those of a line at once, since each leaves the processors idle for half of its time. */
const stages = [[groups.together], [groups.crowd], [groups.few, groups.alone]];
for (const [suite, files] of chosen) {
  const reason = await missingFor(suite, log);
  if (reason !== undefined) skips.push({ suite: suite.name, reason, required: suite.required });
  else groups[suite.at].files.push(...files);
}

let totals = nothing;
for (const stage of stages) {
  const wanted = stage.filter(({ files }) => files.length > 0);
  const output = wanted.length > 1 ? "lines" : "inherit";
  const runs = wanted.map((group) => runVitest(root, group.files, [...flags, ...group.flags], output));
  for (const run of await Promise.all(runs)) totals = plusTotals(totals, run);
}
for (const { suite, reason } of skips) log(`skipped suite "${suite}": ${reason}`);
const { exitCode, words } = verdict(totals, skips, inCi(process.env));
for (const word of words) log(word);
console.log(closingLine(totals, skips));
process.exit(exitCode);

/**
 * Paths choose files, as the shell completes them too (`./src/net/`, or from the root of the disk); everything else is
 * vitest's own. `-t NAME` is a flag with a value.
 */
function parse(args: readonly string[]): { paths: string[]; flags: string[] } {
  const given = { paths: [] as string[], flags: [] as string[] };
  for (const [index, argument] of args.entries()) {
    const isValue = args[index - 1] === "-t";
    if (argument.startsWith("-") || isValue) given.flags.push(argument);
    else given.paths.push(argument.replace(`${root}/`, "").replace(/^\.\//, ""));
  }
  return given;
}
