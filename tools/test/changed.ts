// Which test files a change can break: those that import a changed file, at any distance, or start a program that does.
//
// Promised: more rather than fewer. A file that no source imports (a manifest, a lock file) counts for every source in
// its folder and those that name its top folder, else for everything. Not promised: files read by computed names.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Path below the checkout -> what it imports or starts. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Against the commit, or main, or HEAD on main itself: what is committed since, what is not yet, and what is new. */
export function changedFiles(root: string, since?: string): string[] {
  const git = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync("git", ["-C", root, ...args], { encoding: "utf8" });
    if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr.trim()}`);
    return stdout.split("\n").filter((line) => line !== "");
  };
  const isMain = git("rev-parse", "--abbrev-ref", "HEAD")[0] === "main";
  const base = git("merge-base", since ?? (isMain ? "HEAD" : "main"), "HEAD")[0]!;
  return [...new Set([...git("diff", "--name-only", base), ...git("ls-files", "--others", "--exclude-standard")])];
}

/** Of all sources that the tests reach. */
export function graphOf(root: string, tests: readonly string[]): Graph {
  const graph = new Map<string, Set<string>>();
  const queue = [...tests];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (graph.has(file) || !existsSync(join(root, file))) continue;
    const reached = reachedFrom(file, readFileSync(join(root, file), "utf8"));
    graph.set(file, new Set(reached));
    queue.push(...reached);
  }
  return graph;
}

/** A source of values in, values out: neither it nor what it imports reaches for files, processes or the network. */
export function isPure(graph: Graph, file: string, textOf: (file: string) => string): boolean {
  if (!file.startsWith("src/")) return false;
  const seen = new Set([file]);
  for (const each of seen) {
    if (!graph.has(each) || outside.test(textOf(each))) return false;
    for (const imported of graph.get(each) ?? []) seen.add(imported);
  }
  return true;
}

const outside =
  /^(?:import|export)\b(?! type\b)[^;]*?"(?:node:(?!crypto|util|buffer)|undici|koffi)|\b(?:process|globalThis)\.|\b(?:import|fetch)\(/m;

/** The file's imports, but for types alone; and programs: our own as a person starts it, files named by their URL. */
function reachedFrom(file: string, text: string): string[] {
  const names = [
    ...text.matchAll(/^(?:import|export)\b(?! type\b)[^;"]*?\bfrom "(\.[^"]+)"/gm),
    ...text.matchAll(/\bimport(?:\(| )"(\.[^"]+)"/g),
    ...text.matchAll(/\bnew URL\("([^"]+\.ts)", import\.meta\.url\)/g),
  ].map(([, name = ""]) => normalize(join(dirname(file), name)));
  return /"holdfast\.ts"|bin\/holdfast/.test(text) ? [...names, "bin/holdfast.ts"] : names;
}

/** The tests that reach one of the files; all of them where one cannot be placed. */
export function reachedBy(
  graph: Graph,
  tests: readonly string[],
  files: readonly string[],
  textOf: (file: string) => string,
): string[] {
  const sources = [...graph.keys()];
  const touched = new Set<string>();
  for (const file of files.filter((each) => !each.endsWith(".md"))) {
    const top = file.split("/")[0] ?? "";
    const placed = graph.has(file)
      ? [file]
      : /\.m?ts$/.test(file)
        ? [] // reached by no test, or gone with its last importer
        : sources.filter((each) => dirname(each) === dirname(file) || textOf(each).includes(`"${top}"`));
    if (placed.length === 0 && !/\.m?ts$/.test(file)) return [...tests];
    for (const each of placed) touched.add(each);
  }
  const importers = new Map<string, string[]>();
  for (const [file, imports] of graph)
    for (const each of imports) importers.set(each, [...(importers.get(each) ?? []), file]);
  const queue = [...touched];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    for (const each of importers.get(file) ?? []) {
      if (touched.has(each)) continue;
      touched.add(each);
      queue.push(each);
    }
  }
  return tests.filter((each) => touched.has(each));
}
