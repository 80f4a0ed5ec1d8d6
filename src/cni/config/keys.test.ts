// docs/cni.md against the parser: every key it knows is described there with its type, and nothing else is.
import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { ipamKeys, type Key, type Keys, type KeyType } from "./keys.ts";

/** Paths of all keys, `a.b` for one inside an object and `a[].b` for one inside a list of them. */
function keyPaths(keys: Keys = ipamKeys, before = ""): string[] {
  return Object.entries(keys).flatMap(([name, key]) => {
    const path = `${before}${name}`;
    const inner = key.inside === undefined ? [] : keyPaths(key.inside, `${path}${key.type === "objects" ? "[]" : ""}.`);
    return [path, ...inner];
  });
}

const words: Readonly<Record<KeyType, string>> = {
  string: "string",
  boolean: "boolean",
  integer: "integer",
  strings: "list of strings",
  object: "object",
  objects: "list of objects",
};

/** Rows of the tables between "## Keys" and the next section: key and type. */
function documented(): Map<string, string> {
  const text = readFileSync(new URL("../../../docs/cni.md", import.meta.url), "utf8");
  const section = /^## Keys$(.*?)^## /ms.exec(text)![1]!;
  const rows = [...section.matchAll(/^\| `([^`]+)` \| ([^|]+) \|/gm)].map((row) => [row[1]!, row[2]!.trim()] as const);
  expect(new Set(rows.map(([key]) => key)).size).toBe(rows.length);
  return new Map(rows);
}

function keyAt(path: string): Key {
  const [last, ...before] = path.split(".").toReversed();
  let keys: Keys = ipamKeys;
  for (const part of before.toReversed()) keys = keys[part.replace("[]", "")]!.inside!;
  return keys[last!]!;
}

describe("docs/cni.md", () => {
  it("describes every key, and no other", () => {
    expect([...documented().keys()].sort()).toEqual(keyPaths().sort());
  });

  it("gives the type that the parser wants", () => {
    for (const [path, type] of documented()) expect([path, type]).toEqual([path, words[keyAt(path).type]]);
  });

  it("says of each key without effect that it has none", () => {
    const text = readFileSync(new URL("../../../docs/cni.md", import.meta.url), "utf8");
    for (const path of keyPaths().filter((candidate) => keyAt(candidate).unused !== undefined)) {
      const row = text.split("\n").find((line) => line.startsWith(`| \`${path}\` |`));
      expect(row).toContain("No effect");
    }
  });
});
