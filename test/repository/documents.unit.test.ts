// The documents against their subjects: links and anchors, commands and options, claims' marks, events and metrics.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

import { describe, expect, it } from "vitest";

import * as marks from "../../src/api/claims/claim-marks.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const filesIn = (folder: string, ending: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
const documents = [
  ...readdirSync(root)
    .filter((name) => name.endsWith(".md"))
    .toSorted(),
  ...filesIn("docs", ".md").toSorted(),
];

/** As GitHub makes them of headings. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

describe.each(documents)("%s", (document) => {
  const links = [...read(document).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link));

  it("leads to files that are there, and to headings that they have", () => {
    const broken = links.filter((link) => {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? document : relative(root, join(root, dirname(document), path));
      try {
        return anchor !== undefined && !anchorsOf(read(target)).has(anchor);
      } catch (error) {
        return (error as NodeJS.ErrnoException).code !== "EISDIR";
      }
    });
    expect(broken).toEqual([]);
  });
});

/** Command -> its section in the reference, which is generated from the commands themselves. */
const reference = new Map(
  read("docs/cli.md")
    .split(/^## /m)
    .slice(1)
    .map((section) => [/`(.+?)`/.exec(section)![1]!, section]),
);

/** What stands in a line of a terminal, or between backticks: `holdfast WORDS OPTIONS`. */
function callsIn(text: string): string[] {
  const lines = [...text.matchAll(/^(?:\s{4,}|\$ )(?:\.\/)?(holdfast .+)$/gm)].map(([, call = ""]) => call);
  const spans = [...text.matchAll(/`(?:\.\/)?(holdfast [^`]+)`/g)].map(([, call = ""]) => call);
  return [...lines, ...spans].map((call) => call.split(/[|<>#]/)[0]!.trim());
}

function faultIn(call: string): string | undefined {
  const words = call.split(/\s+/);
  const first = words.findIndex((word, index) => index > 0 && !/^[a-z][a-z-]*$/.test(word));
  const names = first === -1 ? words : words.slice(0, first);
  let length = names.length;
  while (length > 1 && !reference.has(names.slice(0, length).join(" "))) length -= 1;
  if (length === 1 && names.length > 1) return `${call}: there is no such command`;
  const name = names.slice(0, length).join(" ");
  // What is written without its command is the first of them: `holdfast claims -n shop`.
  const sections = `${reference.get(name) ?? ""}${reference.get(`${name} list`) ?? ""}`;
  const options = words.slice(length).flatMap((word) => /^--?[a-z][a-z-]*/.exec(word) ?? []);
  const unknown = options.filter((option) => !new RegExp(`(^|[\\s,])${option}([\\s,=]|$)`, "m").test(sections));
  return unknown.length === 0 ? undefined : `${call}: ${name} has no ${unknown.join(", ")}`;
}

describe("commands in documents", () => {
  it.each([
    "README.md",
    "docs/persistent-ips.md",
    "docs/managed-dhcp.md",
    "docs/install.md",
    "docs/node-slices.md",
    "docs/leaks.md",
  ])("%s names those that there are, with options that they have", (document) => {
    const calls = callsIn(read(document));
    expect(calls).not.toEqual([]);
    expect(calls.map(faultIn).filter((fault) => fault !== undefined)).toEqual([]);
  });

  it.each([
    ["holdfast clams", "no such command"],
    ["holdfast claims --nope", "has no --nope"],
    ["holdfast adopt shop/db --form UID", "has no --form"],
  ])("would notice %s", (call, fault) => {
    expect(faultIn(call)).toContain(fault);
  });
});

describe("what is said of claims", () => {
  const sources = [...filesIn("src/claims", ".ts"), ...filesIn("src/node/claims", ".ts")]
    .filter((path) => !/\.test\.ts$|\/testing\//.test(path))
    .map(read)
    .join("\n");
  const found = (pattern: RegExp) => [...new Set([...sources.matchAll(pattern)].map(([, name = ""]) => name))];
  const missing = (names: readonly string[], document: string) => {
    const text = read(document);
    return names.filter((name) => !new RegExp(`[\`" ]${name}[\`"{ =]`).test(text));
  };

  it("docs/objects.md has every mark", () => {
    const names = Object.values(marks).filter((each) => typeof each === "string" && /[./]/.test(each)) as string[];
    expect(names.length).toBeGreaterThan(15);
    expect(missing(names, "docs/objects.md")).toEqual([]);
  });

  it.each(["docs/objects.md", "docs/persistent-ips.md"])("%s has every reason of the condition", (document) => {
    const reasons = Object.values(marks.allocationReasons).filter((each) => each !== "SuccessfulAllocation");
    expect(missing(reasons, document)).toEqual([]);
  });

  it("docs/persistent-ips.md has every event", () => {
    const reasons = found(/(?:"(?:Warning|Normal)",\s*|Events?\([\w, ]+, |reason: )"([A-Z]\w+)"/g);
    expect(reasons.length).toBeGreaterThan(9);
    expect(missing(reasons, "docs/persistent-ips.md")).toEqual([]);
  });

  it("docs/persistent-ips.md has every metric", () => {
    const metrics = found(/\b(?:counter|gauge|seconds|asked)\("(holdfast_\w+)"/g);
    expect(metrics.length).toBeGreaterThan(5);
    expect(missing(metrics, "docs/persistent-ips.md")).toEqual([]);
  });
});

describe("what is said of managed DHCP", () => {
  const sources = [...filesIn("src/vmnet", ".ts"), ...filesIn("src/agent", ".ts")]
    .filter((path) => !path.endsWith(".test.ts"))
    .map(read)
    .join("\n");
  const text = read("docs/managed-dhcp.md");
  const missing = (pattern: RegExp) => {
    const names = [...new Set([...sources.matchAll(pattern)].map(([, name = ""]) => name))];
    expect(names.length).toBeGreaterThan(5);
    return names.filter((name) => !text.includes(`\`${name}\``));
  };

  it("docs/managed-dhcp.md has every event and every reason of a condition", () => {
    expect(missing(/(?:"Warning",\s*|#tell(?:Pool)?\([\w.]+, |\bno\(|reason: )"([A-Z]\w+)"/g)).toEqual([]);
  });

  it("docs/managed-dhcp.md has every metric", () => {
    expect(missing(/"((?:holdfast_(?:vm|dhcp)|vmdhcpcontroller)_\w+)"/g)).toEqual([]);
  });
});
