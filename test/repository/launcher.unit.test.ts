// ./holdfast and the bootstrap, as a new user meets them.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { closingLine, crashOf, inCi, plusTotals, tally, verdict } from "../../tools/test/tally.ts";

const root = join(import.meta.dirname, "..", "..");
let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "holdfast-launch-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function run(program: string, args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const result = spawnSync(program, args, { encoding: "utf8", cwd: folder, ...options });
  return { status: result.status, out: result.stdout, err: result.stderr };
}

describe("./holdfast", () => {
  it("runs from any folder, on the pinned Node", () => {
    expect(run(join(root, "holdfast"), ["--version"])).toMatchObject({ status: 0, out: "0.1.0\n" });
  });

  it("runs through a chain of symbolic links, relative ones too", () => {
    symlinkSync(join(root, "holdfast"), join(folder, "first"));
    symlinkSync("first", join(folder, "second"));
    expect(run(join(folder, "second"), ["--version"], { cwd: "/" }).out).toBe("0.1.0\n");
  });

  it("says what to do on a machine without Node", () => {
    mkdirSync(join(folder, "checkout"));
    for (const file of ["holdfast", "package-lock.json"]) cpSync(join(root, file), join(folder, "checkout", file));
    for (const tool of ["dirname", "readlink", "cmp"]) symlinkSync(which(tool), join(folder, tool));
    const result = run("/bin/sh", [join(folder, "checkout", "holdfast")], { env: { PATH: folder } });
    expect(result).toMatchObject({ status: 1 });
    expect(result.err).toContain("Install any Node that npm 11 runs on");
  });
});

describe("the bootstrap", () => {
  /** A checkout whose only package is none, and an npm that writes down how it was called. */
  function checkout(npmBody: string): { enter: string; env: NodeJS.ProcessEnv } {
    const place = join(folder, "checkout");
    cpSync(join(root, "tools/bootstrap"), join(place, "tools/bootstrap"), { recursive: true });
    writeFileSync(join(place, "package-lock.json"), '{"lockfileVersion":3}');
    writeFileSync(
      join(place, "hello.ts"),
      'const who: string = "world";\nconsole.log(`hello ${who} ${process.argv.slice(2).join(",")}`);\nprocess.exit(7);\n',
    );
    writeFileSync(join(folder, "npm"), `#!/bin/sh\necho "$@" >> ${folder}/npm.calls\n${npmBody}\n`, { mode: 0o755 });
    return {
      enter: join(place, "tools/bootstrap/enter.mjs"),
      env: { ...process.env, PATH: `${folder}:${process.env["PATH"]}` },
    };
  }
  const install = `mkdir -p node_modules/.bin && ln -sf ${process.execPath} node_modules/.bin/node`;
  const calls = () => readFileSync(join(folder, "npm.calls"), "utf8").trim().split("\n");

  it("installs once per lock file, then hands over arguments and exit code", () => {
    const { enter, env } = checkout(install);
    const first = run(process.execPath, [enter, "hello.ts", "a", "b"], { env });
    expect(first).toMatchObject({ status: 7, out: "hello world a,b\n" });
    expect(first.err).toContain("installing npm packages");
    expect(run(process.execPath, [enter, "hello.ts"], { env })).toMatchObject({ status: 7, err: "" });
    expect(calls()).toHaveLength(1);
    writeFileSync(join(folder, "checkout", "package-lock.json"), '{"lockfileVersion":3, "changed": true}');
    run(process.execPath, [enter, "hello.ts"], { env });
    expect(calls()).toHaveLength(2);
    expect(calls()[0]).toContain("ci --ignore-scripts");
  });

  it("passes on what npm says when it fails, with the remedy, and tries again the next time", () => {
    const { enter, env } = checkout("echo 'npm error network ENOTFOUND' >&2; exit 1");
    const result = run(process.execPath, [enter, "hello.ts"], { env });
    expect(result.status).toBe(1);
    expect(result.err).toContain("ENOTFOUND");
    expect(result.err).toContain("npm ping");
    run(process.execPath, [enter, "hello.ts"], { env });
    expect(calls()).toHaveLength(2);
  });

  it("names the platforms it runs on where the lock brings no Node", () => {
    const { enter, env } = checkout("mkdir -p node_modules");
    expect(run(process.execPath, [enter, "hello.ts"], { env }).err).toContain("Holdfast runs on Linux, x64 or arm64");
  });

  it("takes over the lock of an install that died", () => {
    const { enter, env } = checkout(install);
    mkdirSync(join(folder, "checkout/.cache/install.lock"), { recursive: true });
    const dead = spawnSync("true").pid;
    writeFileSync(join(folder, "checkout/.cache/install.lock/pid"), String(dead));
    expect(run(process.execPath, [enter, "hello.ts"], { env }).status).toBe(7);
  });
});

describe("many commands at once", () => {
  it("install once, also where they find the lock of an install that died", async () => {
    const place = join(folder, "checkout");
    cpSync(join(root, "tools/bootstrap"), join(place, "tools/bootstrap"), { recursive: true });
    writeFileSync(join(place, "package-lock.json"), "{}");
    writeFileSync(join(place, "hello.ts"), "");
    const install = `mkdir -p node_modules/.bin && ln -sf ${process.execPath} node_modules/.bin/node`;
    writeFileSync(join(folder, "npm"), `#!/bin/sh\necho call >> ${folder}/npm.calls\nsleep 1\n${install}\n`, {
      mode: 0o755,
    });
    mkdirSync(join(place, ".cache/install.lock"), { recursive: true });
    writeFileSync(join(place, ".cache/install.lock/pid"), String(spawnSync("true").pid));
    const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}` };
    const all = Array.from({ length: 8 }, () =>
      once(
        spawn(process.execPath, [join(place, "tools/bootstrap/enter.mjs"), "hello.ts"], { env, stdio: "ignore" }),
        "exit",
      ),
    );
    expect(new Set((await Promise.all(all)).map(([code]) => code))).toEqual(new Set([0]));
    expect(readFileSync(join(folder, "npm.calls"), "utf8")).toBe("call\n");
  });
});

describe("npm test", () => {
  const green = { passed: 3, failed: 0, skipped: 0, crashed: false, failures: [], timesMs: new Map() };
  const skip = { suite: "cluster", reason: "no root", required: true };

  it("counts a suite that could not run as skipped, and fails on it only in CI", () => {
    expect(closingLine(green, [skip])).toBe("3 passed, 0 failed, 1 skipped");
    expect(verdict(green, [skip], false).exitCode).toBe(0);
    expect(verdict(green, [skip], true)).toMatchObject({ exitCode: 1 });
    expect(verdict(green, [{ ...skip, required: false }], true).exitCode).toBe(0);
  });

  it("is red for a failed test, a crash of the runner, and when nothing ran", () => {
    expect(verdict({ ...green, failed: 1 }, [], false).exitCode).toBe(1);
    expect(verdict({ ...green, crashed: true }, [], false).exitCode).toBe(1);
    expect(closingLine({ ...green, crashed: true }, [])).toBe("3 passed, 1 failed, 0 skipped");
    const halted = plusTotals(green, crashOf(new Error("Go is too old")));
    expect(closingLine(halted, [])).toBe("3 passed, 1 failed, 0 skipped");
    expect(verdict(halted, [], false).exitCode).toBe(1);
    expect(verdict(halted, [], false).words[0]).toMatch(/^failed: npm test itself: Error: Go is too old/);
    expect(verdict({ ...green, skipped: 1 }, [], true).exitCode).toBe(0); // with its reason: the linter refuses others
    expect(verdict({ ...green, passed: 0 }, [], false).exitCode).toBe(1);
    expect(verdict(green, [], true).exitCode).toBe(0);
  });

  it("reads vitest's report, and takes a missing one with a bad exit for a crash", () => {
    expect(tally({ numPassedTests: 2, numFailedTests: 1, numPendingTests: 3, numTodoTests: 1 }, 1)).toEqual({
      passed: 2,
      failed: 1,
      skipped: 4,
      crashed: false,
      failures: [],
      timesMs: new Map(),
    });
    expect(tally(undefined, 1)).toMatchObject({ passed: 0, crashed: true });
    expect(tally(undefined, 0)).toMatchObject({ passed: 0, crashed: true });
  });

  it("names at the end what failed, and the files that did not load", () => {
    const testResults = [
      {
        name: "a.test.ts",
        status: "failed",
        assertionResults: [
          { fullName: "adds up", status: "failed", failureMessages: ["Error: 2 is not 3\n    at a.test.ts:3"] },
          { fullName: "takes away", status: "passed" },
        ],
      },
      { name: "b.test.ts", status: "failed", message: "Error: no such module", assertionResults: [] },
      { name: "c.test.ts", status: "passed", assertionResults: [] },
    ];
    const { failures } = tally({ numPassedTests: 1, numFailedTests: 1, testResults }, 1);
    expect(failures).toEqual(["a.test.ts: adds up: Error: 2 is not 3", "b.test.ts: Error: no such module"]);
    expect(verdict({ ...green, failed: 1, failures }, [], false)).toEqual({
      exitCode: 1,
      words: failures.map((failure) => `failed: ${failure}`),
    });
  });

  it("knows a CI by its variable", () => {
    expect(["true", "1", "yes"].map((CI) => inCi({ CI }))).toEqual([true, true, true]);
    expect([{}, { CI: "" }, { CI: "false" }, { CI: "0" }].map((env) => inCi(env))).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  it("refuses a path that no test file has, beside one that many have", () => {
    const result = run(process.execPath, [join(root, "tools/test/main.ts"), "src/net", "src/nte"]);
    expect(result).toMatchObject({ status: 2, out: "" });
    expect(result.err).toContain("no test file has src/nte in its path");
  });

  it("takes a path as the shell completes it", () => {
    for (const path of ["./src/net/v4.test.ts", join(root, "src/net/v4.test.ts")]) {
      const result = run(process.execPath, [join(root, "tools/test/main.ts"), path, "-t", "no such test"]);
      expect(result.out).toContain("0 passed, 0 failed");
      expect(result.err).toContain("no test ran");
    }
  });

  it("passes a signal on to vitest, waits for it, and dies of the same", async () => {
    mkdirSync(join(folder, "node_modules/vitest"), { recursive: true });
    writeFileSync(
      join(folder, "node_modules/vitest/vitest.mjs"),
      `import { writeFileSync } from "node:fs";
       process.on("SIGTERM", () => setTimeout(() => { writeFileSync("ended", ""); process.exit(1); }, 100));
       setInterval(() => {}, 1000);
       console.log("running");`,
    );
    const script = `import { runVitest } from ${JSON.stringify(join(root, "tools/test/vitest.ts"))}; await runVitest(${JSON.stringify(folder)}, [], []);`;
    writeFileSync(join(folder, "run.mjs"), script);
    const child = spawn(process.execPath, [join(folder, "run.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
    const exit = once(child, "exit");
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    expect(await exit).toEqual([null, "SIGTERM"]);
    expect(existsSync(join(folder, "ended"))).toBe(true);
  });
});

function which(tool: string): string {
  return spawnSync("sh", ["-c", `command -v ${tool}`], { encoding: "utf8" }).stdout.trim();
}
