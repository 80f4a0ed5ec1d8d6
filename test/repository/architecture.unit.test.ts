// The pictures in ARCHITECTURE.md and the answers in CONTRIBUTING.md are the tree as it is: every file that they name
// is there, and no folder holds more than a reader takes in at a glance.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");
const read = (document: string) => readFileSync(join(root, document), "utf8");
const filesIn = (text: string) => text.match(/\b(?:src|bin|tools|test)\/[\w/.-]+\.ts\b/gu) ?? [];
const missing = (text: string) => filesIn(text).filter((file) => !existsSync(join(root, file)));

describe("pictures", () => {
  it.each([
    ["an ADD", 20],
    ["a VM's address", 15],
    ["a VM's address with managed DHCP", 15],
    ["a slice", 15],
  ])("every file that the life of %s goes through is there", (whose, atLeast) => {
    const picture = read("ARCHITECTURE.md").split(`### The life of ${whose}`)[1]!.split("```")[1]!;
    expect(filesIn(picture).length).toBeGreaterThan(atLeast);
    expect(missing(picture)).toEqual([]);
  });
});

describe("questions", () => {
  const section = () => read("CONTRIBUTING.md").split("## Where is …")[1]!.split("\n## ")[0]!;

  it("each of them, ten at least, is answered by files that are there", () => {
    const rows = section()
      .split("\n")
      .filter((line) => /^\| .*\?/u.test(line));
    expect(rows.length).toBeGreaterThanOrEqual(10);
    expect(rows.filter((row) => filesIn(row).length === 0)).toEqual([]);
    expect(missing(section())).toEqual([]);
  });
});

describe("glossary", () => {
  it("has every word once", () => {
    const words = read("ARCHITECTURE.md")
      .split("| word | what it is |")[1]!
      .split("\n\n")[0]!
      .split("\n")
      .filter((line) => /^\| \w/u.test(line))
      .flatMap((line) => line.slice(2).split(" | ")[0]!.split(", "));
    expect(words.length).toBeGreaterThan(30);
    expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
  });
});

describe("folders of src", () => {
  const folders = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true }).filter((each) =>
    each.isDirectory(),
  );

  it("hold some twenty files each, tests aside", () => {
    const crowded = folders.flatMap(({ parentPath, name }) => {
      const files = readdirSync(join(parentPath, name)).filter((file) => /(?<!\.test)\.ts$/u.test(file));
      return files.length > 21 ? [`${join(parentPath, name)}: ${files.length}`] : [];
    });
    expect(crowded).toEqual([]);
  });
});
