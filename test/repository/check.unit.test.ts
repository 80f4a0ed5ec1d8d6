// `npm run check`, step by step: what it refuses, CI refuses.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { steps } from "../../tools/check/steps.ts";

const root = join(import.meta.dirname, "..", "..");

describe("npm run check", () => {
  it.each(steps)("$name", ({ command, remedy }) => {
    const [program, ...args] = command;
    const run = spawnSync(program!, args, { cwd: root, encoding: "utf8" });
    expect(run.status, `${run.stdout}${run.stderr}\nremedy: ${remedy}`).toBe(0);
  });
});
