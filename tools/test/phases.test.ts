import { spawnSync } from "node:child_process";

import { describe, expect, test } from "vitest";

import { childrenSeconds, linesOf, spentIn } from "./phases.ts";

describe("the end of a run", () => {
  test("names the groups in the order in which they began", () => {
    const crowd = { name: "crowd", files: 90, fromMs: 60_400, toMs: 299_600 };
    const nodes = { name: "nodes", files: 21, fromMs: 200, toMs: 400_000 };
    expect(linesOf([crowd, nodes])).toEqual(["   0 to  400 s  nodes, 21 files", "  60 to  300 s  crowd, 90 files"]);
  });

  test("says how busy the cores were, where the kernel counts it", () => {
    expect(spentIn(400.2, 600, 2)).toBe("400 s in all, 600 s of processor time (75 % of 2 cores):");
    expect(spentIn(5, undefined, 2)).toBe("5 s in all");
  });
});

describe("processor time of ended children", () => {
  test("is read behind a name with spaces and parentheses", () => {
    const stat = `42 (a) b (c) S ${Array.from({ length: 40 }, (_, index) => index + 4).join(" ")}`;
    // Fields 16 and 17 of proc(5), 1-based: cutime and cstime.
    expect(childrenSeconds(() => stat)).toBe((16 + 17) / 100);
  });

  test("grows by what a child has spent", () => {
    const before = childrenSeconds()!;
    spawnSync(process.execPath, ["-e", "const end = performance.now() + 200; while (performance.now() < end);"]);
    expect(childrenSeconds()!).toBeGreaterThan(before);
  });

  test("is unknown where the kernel does not say", () => {
    const nothing = () => {
      throw new Error("ENOENT");
    };
    expect(childrenSeconds(nothing)).toBeUndefined();
    expect(childrenSeconds(() => "")).toBeUndefined();
  });
});
