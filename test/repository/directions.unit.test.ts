// The import directions are kept by the linter: break one, and it says which, why, and what to do.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { folders, judge } from "../../tools/lint/directions.ts";

const root = join(import.meta.dirname, "..", "..");

describe("the table of directions", () => {
  it("has no cycle", () => {
    const depth = (name: string, path: readonly string[]): number => {
      if (path.includes(name)) throw new Error(`cycle: ${[...path, name].join(" -> ")}`);
      return 1 + Math.max(0, ...folders[name]!.imports.map((each) => depth(each.split("/")[0]!, [...path, name])));
    };
    for (const name of Object.keys(folders)) expect(depth(name, [])).toBeLessThan(9);
  });

  it("lets features import what they build on and never each other", () => {
    const features = ["slices", "claims", "vmnet", "migration", "node"];
    for (const feature of features) {
      expect(folders[feature]!.imports).toEqual(expect.arrayContaining(["kube", "api", "ipam"]));
      for (const other of features) expect(folders[feature]!.imports).not.toContain(other);
    }
  });

  it.each([
    ["src/ipam/decide.ts", "../net/address.ts", undefined],
    ["src/ipam/decide.ts", "./pool.ts", undefined],
    ["src/net/address.ts", "../ipam/pool.ts", "src/net may not import src/ipam; it may import nothing of ours"],
    ["src/net/address.ts", "node:fs", "src/net runs in a browser too"],
    ["src/ipam/pool.ts", "commander", "src/ipam runs in a browser too"],
    ["src/claims/reconcile.ts", "../slices/plan.ts", "src/claims may not import src/slices"],
    ["src/claims/reconcile.ts", "undici", "only src/kube and src/apiserver know HTTP"],
    ["src/claims/reconcile.ts", "node:https", "only src/kube and src/apiserver know HTTP"],
    ["src/kube/rest.ts", "undici", undefined],
    ["src/kube/rest.ts", "../api/pool.ts", "src/kube may not import src/api"],
    ["src/ovn/port.ts", "../ovsdb/session.ts", undefined],
    ["src/ovsdb/session.ts", "../ovn/port.ts", "src/ovsdb may not import src/ovn"],
    ["src/cli/explain.ts", "../../tools/lint/directions.ts", "src/ imports only from src/"],
    ["src/cli/explain.ts", "./explain.test.ts", "production code does not import it"],
    ["src/novel/thing.ts", "./other.ts", "src/novel is not in tools/lint/directions.ts"],
    ["src/net/address.test.ts", "fast-check", undefined],
    ["bin/holdfast.ts", "../src/cli/program.ts", undefined],
  ])("%s importing %s", (file, specifier, complaint) => {
    const message = judge(file, specifier)?.message;
    if (complaint === undefined) expect(message).toBeUndefined();
    else expect(message).toContain(complaint);
  });
});

describe("the linter", () => {
  let copy: string;
  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), "holdfast-lint-"));
    for (const file of [".oxlintrc.json", "tsconfig.json", "package.json", "tools/lint", "src/net", "src/ipam"]) {
      mkdirSync(dirname(join(copy, file)), { recursive: true });
      cpSync(join(root, file), join(copy, file), { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
    }
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  const lint = () => {
    const oxlint = join(root, "node_modules/oxlint/bin/oxlint");
    const run = spawnSync(process.execPath, [oxlint, "src/net", "src/ipam"], { cwd: copy, encoding: "utf8" });
    return { status: run.status, text: run.stdout + run.stderr };
  };

  it.each([
    ["an import", 'import { Pool } from "../ipam/pool.ts";\nexport const broken = Pool;\n'],
    ["a type import", 'import type { Pool } from "../ipam/pool.ts";\nexport type Broken = Pool;\n'],
    ["a re-export", 'export { Pool } from "../ipam/pool.ts";\n'],
    ["a dynamic import", 'export const broken = () => import("../ipam/pool.ts");\n'],
    ["an inline type", 'export type Broken = import("../ipam/pool.ts").Pool;\n'],
  ])("refuses %s against the direction", (_what, text) => {
    const file = join(copy, "src/net/broken.ts");
    writeFileSync(file, text);
    try {
      const { status, text: said } = lint();
      expect(said).toContain("src/net may not import src/ipam; it may import nothing of ours");
      expect(status).not.toBe(0);
    } finally {
      rmSync(file);
    }
  });

  it("refuses a header that slid among the imports", () => {
    const file = join(copy, "src/ipam/slid.ts");
    const text = `import type { Pool } from "./pool.ts";\n// What this file is.\nimport type { Owner } from "./owner.ts";\n`;
    writeFileSync(file, `${text}export type Broken = Pool | Owner;\n`);
    try {
      expect(lint().text).toContain("A file's header stands above its imports");
    } finally {
      rmSync(file);
    }
  });

  it.each([
    ["of one line", `// ${"word ".repeat(24)}`, "this one at 122"],
    ["behind code", `export const one = 1; // ${"word ".repeat(20)}`, "this one at 124"],
    ["in a block", `/**\n * Short.\n *  ${"word ".repeat(24)}\n */`, "this one at 123"],
    ["that ends at the last column", `//  ${"word ".repeat(23)}s`, undefined],
    ["with a word that fits no line", `// See https://example.org/${"a".repeat(120)}`, undefined],
  ])("judges the width of a comment %s", (_where, comment, complaint) => {
    const file = join(copy, "src/ipam/wide.ts");
    writeFileSync(file, `${comment.replaceAll(/ $/gm, "")}\nexport const wide = true;\n`);
    try {
      const said = lint().text;
      if (complaint === undefined) expect(said).not.toContain("wide.ts");
      else expect(said).toContain(`A comment line ends at column 120 at the latest, ${complaint}.`);
    } finally {
      rmSync(file);
    }
  });

  it("is content with the tree as it is", () => {
    const { status, text } = lint();
    expect(status, text).toBe(0);
  });
});
