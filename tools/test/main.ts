// `npm test`: every suite this machine can run, and a plain word about those it cannot.
//
//   npm test                            every suite, each story at least once
//   npm run test:full                   all of it: every seed, kill and pair of servers
//   npm test -- src/net                 the files whose path contains src/net
//   npm test -- src/net -t "RFC 5952"   and only the tests whose name matches
//   npm test -- --changed               what changes since main (on main: HEAD; --changed=COMMIT) can have broken
//                                       (of pure ones: in values; the stories are left to npm test)
//   npm test -- --suite=unit,embedded   only these suites
//   npm test -- --list                  runs nothing; names each test file and its suite
import { globSync, readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";

import { changedFiles, type Graph, graphOf, isPure, reachedBy } from "./changed.ts";
import { flagsFor, lanesFor } from "./lanes.ts";
import { childrenSeconds, linesOf, type Phase, spentIn } from "./phases.ts";
import { missingFor } from "./requirements.ts";
import { removeScratch, scratchFolder } from "./scratch.ts";
import { isFullOnly, type Suite, suiteOf, suites } from "./suites.ts";
import { closingLine, crashOf, inCi, nothing, plusTotals, type Skip, type Totals, verdict } from "./tally.ts";
import { keepTimes, slowest } from "./times.ts";
import { clearLine, runVitest } from "./vitest.ts";

const root = join(import.meta.dirname, "..", "..");
/** A build that goes on for minutes says so on one line of a terminal: the next word takes its place. */
const log = (line: string) => {
  const isProgress = line.startsWith("  ") && process.stderr.isTTY;
  process.stderr.write(`${process.stderr.isTTY ? clearLine : ""}holdfast: ${line.trim()}${isProgress ? "" : "\n"}`);
};
const { paths, flags, own } = parse(process.argv.slice(2));

if (flags.includes("--help") || flags.includes("-h")) {
  console.log("npm test [-- PATH... [-t NAME]]   each story at least once; or the test files whose path contains PATH");
  console.log("npm run test:full                 all volumes, every pair of servers, long random runs");
  console.log("npm test -- --changed[=COMMIT]    what the changes since main (or HEAD, or COMMIT) can have broken");
  console.log("npm test -- --suite=NAME,NAME     only these suites");
  console.log("npm test -- --list [PATH...]      runs nothing; names each test file and its suite\n");
  for (const suite of suites) console.log(`  ${suite.name.padEnd(9)} ${suite.about}`);
  process.exit(0);
}
const isFull = own.has("full");
if (isFull) process.env["HOLDFAST_TEST_FULL"] = "1";

const testFiles = globSync(["{src,test,tools,bench}/**/*.test.ts"], { cwd: root }).sort();
const unknown = paths.filter((path) => !testFiles.some((file) => file.includes(path)));
if (unknown.length > 0) {
  log(`no test file has ${unknown.join(", ")} in its path (a flag's value is written with =, as in --bail=1)`);
  process.exit(2);
}

/** Suite -> its test files that were asked for. */
const chosen = new Map<Suite, string[]>();
for (const file of own.has("changed") ? changedTests() : testFiles) {
  if (paths.length > 0 && !paths.some((path) => file.includes(path))) continue;
  if (isFullOnly(file) && !isFull && !own.has("list") && !paths.some((path) => path.includes(".full"))) continue;
  const suite = suiteOf(file);
  if (suite === undefined) {
    throw new Error(`${file} belongs to no suite: call it NAME.SUITE.test.ts, with a suite of tools/test/suites.ts.`);
  }
  if (own.get("suite")?.split(",").includes(suite.name) ?? true)
    chosen.set(suite, [...(chosen.get(suite) ?? []), file]);
}
if (own.has("list")) {
  for (const [suite, files] of chosen) for (const file of files) console.log(`${suite.name.padEnd(9)} ${file}`);
  process.exit(0);
}
if (own.has("changed") && chosen.size === 0) {
  log("no test reaches what has changed");
  console.log(closingLine(nothing, []));
  process.exit(0);
}

const startedMs = Date.now();
const skips: Skip[] = [];
const phases: Phase[] = [];
const machine = { cores: availableParallelism(), memoryBytes: totalmem() };
const lanes = lanesFor(machine);
const busyLanes = lanes.filter((groups) => [...chosen.keys()].some(({ at }) => groups.includes(at)));
const output = busyLanes.length > 1 ? "lines" : "inherit";
const scratch = scratchFolder();
if (scratch !== undefined) process.env["TMPDIR"] = scratch;
// The lab's programs in Go have small heaps here, and a fifth of their processor time went into collecting garbage.
// Benchmarks start the same programs as they are: with this limit an API server of 1,000 nodes does little else.
process.env["GOGC"] ??= "400";
process.env["GOMEMLIMIT"] ??= "600MiB";
let totals = nothing;
for (const ran of await Promise.all(lanes.map(runLane))) totals = plusTotals(totals, ran);

if (scratch !== undefined) removeScratch(scratch);
keepTimes(root, totals.timesMs);
if (totals.timesMs.size > 1) {
  const seconds = (Date.now() - startedMs) / 1000;
  log(spentIn(seconds, childrenSeconds(), machine.cores));
  for (const line of linesOf(phases)) console.error(line);
  log(`the slowest of ${totals.timesMs.size} files:`);
  for (const line of slowest(totals.timesMs)) console.error(line);
}
for (const { suite, reason } of skips) log(`skipped suite "${suite}": ${reason}`);
const { exitCode, words } = verdict(totals, skips, inCi(process.env));
for (const word of words) log(word);
console.log(closingLine(totals, skips));
process.exit(exitCode);

/** A suite's needs are brought in at its turn: suites without needs run while Kubernetes is built for the others. */
async function runLane(groups: readonly Suite["at"][]): Promise<Totals> {
  let ran = nothing;
  for (const at of groups) {
    try {
      const files: string[] = [];
      for (const [suite, its] of [...chosen].filter(([each]) => each.at === at)) {
        const reason = await missingFor(suite, log);
        if (reason === undefined) files.push(...its);
        else skips.push({ suite: suite.name, reason, required: suite.required });
      }
      if (files.length === 0) continue;
      const fromMs = Date.now() - startedMs;
      ran = plusTotals(ran, await runVitest(root, files, [...flags, ...flagsFor(at, machine)], output));
      phases.push({ name: at, files: files.length, fromMs, toMs: Date.now() - startedMs });
    } catch (error) {
      // The other lane and the next group go on; the closing line counts it.
      ran = plusTotals(ran, crashOf(error));
    }
  }
  return ran;
}

function changedTests(): string[] {
  const files = changedFiles(root, own.get("changed") || undefined);
  const graph = graphOf(root, testFiles);
  const reached = reachedBy(graph, testFiles, files, (file) => readFileSync(join(root, file), "utf8"));
  // They read the tree itself: documents, import directions, the table of complaints.
  const always = files.length === 0 ? [] : testFiles.filter((file) => /^test\/repository\/d|\/table\.unit/.test(file));
  log(`changed: ${files.length}; test files that reach them: ${reached.length} of ${testFiles.length}`);
  return [...new Set([...always, ...withoutStories(files, reached, graph)])].sort();
}

/** What is pure is judged by its own tests, in a minute or two; whoever names suites has the stories too. */
function withoutStories(files: readonly string[], reached: readonly string[], graph: Graph): readonly string[] {
  const isTest = (file: string) => file.endsWith(".test.ts");
  const sources = files.filter((file) => !isTest(file) && !file.endsWith(".md"));
  const textOf = (file: string) => readFileSync(join(root, file), "utf8");
  if (own.has("suite") || !sources.every((file) => isPure(graph, file, textOf))) return reached;
  const near = reached.filter(
    (file) => files.includes(file) || ["unit", "browser"].includes(suiteOf(file)?.name ?? ""),
  );
  if (near.length === 0) return reached;
  const left = reached.length - near.length;
  if (left > 0) log(`all of them are pure: ${left} files of other suites, which reach them too, are left to npm test`);
  return near;
}

/**
 * Paths choose files (`./src/net/`, absolute ones too); some flags are ours, others vitest's; `-t NAME` has a value.
 */
function parse(args: readonly string[]): { paths: string[]; flags: string[]; own: Map<string, string> } {
  const given = { paths: [] as string[], flags: [] as string[], own: new Map<string, string>() };
  for (const [index, argument] of args.entries()) {
    const [, name, value = ""] = /^--(full|changed|list|suite)(?:=(.*))?$/.exec(argument) ?? [];
    const isValue = args[index - 1] === "-t";
    if (name !== undefined && !isValue) given.own.set(name, value);
    else if (argument.startsWith("-") || isValue) given.flags.push(argument);
    else given.paths.push(argument.replace(`${root}/`, "").replace(/^\.\//, ""));
  }
  return given;
}
