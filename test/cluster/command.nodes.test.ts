// `npm run cluster` as a person uses it.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

import { afterEach, beforeAll, expect, test } from "vitest";

import { ensureKubeBinaries, type KubeBinaries } from "../../tools/kube/build.ts";
import { attempt, run } from "../lab/command.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { labRoot, readStates } from "../lab/state.ts";
import { until } from "../lab/wait.ts";

const main = join(import.meta.dirname, "..", "..", "tools", "cluster", "main.ts");
let binaries: KubeBinaries;
let finish = async () => {};
beforeAll(async () => {
  binaries = await ensureKubeBinaries({ log: console.error });
}, coldStartTimeoutMs);
afterEach(() => finish());

function start(...args: string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const output = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.err += text));
  const ended = new Promise<number | null>((resolve) => {
    child.once("close", resolve);
  });
  finish = async () => {
    child.kill("SIGINT");
    await ended;
  };
  return { child, output, ended };
}

test("starts, says how to use it, and removes everything on Ctrl-C", async () => {
  const { child, output, ended } = start("--nodes", "0");
  await until(async () => output.out.includes("Ctrl-C"), { what: "the instructions" });
  const kubeconfig = /KUBECONFIG=(\S+)/.exec(output.out)?.[1] ?? "";
  expect(await run([binaries.path("kubectl"), `--kubeconfig=${kubeconfig}`, "get", "namespaces"])).toContain(
    "kube-system",
  );
  child.kill("SIGINT");
  expect(await ended).toBe(0);
  expect(output.err).toContain("removing everything");
  expect(existsSync(dirname(kubeconfig))).toBe(false);
});

test("Ctrl-C before it is up removes what there was", async () => {
  const { child, output, ended } = start("--nodes", "1");
  const mine = () => readStates().filter(({ owner }) => owner.pid === child.pid);
  await until(async () => mine()[0]?.processes.some(({ role }) => role === "kube-apiserver"), { what: "the start" });
  child.kill("SIGINT");
  expect(await ended).toBe(1);
  expect(output.err).toContain("ended before it was up");
  expect(mine()).toEqual([]);
});

test("clean says that nothing was left, and leaves the living alone", async () => {
  const { output } = start("--nodes", "0");
  await until(async () => output.out.includes("Ctrl-C"), { what: "the instructions" });
  const words = await run([process.execPath, main, "clean"]);
  expect(words).toMatch(new RegExp(`nothing was left behind in ${labRoot()}|removed lab-`));
  const kubeconfig = /KUBECONFIG=(\S+)/.exec(output.out)?.[1] ?? "";
  expect(existsSync(kubeconfig)).toBe(true);
});

test.each([["--nodes", "6"], ["--nodes", "many"], ["somewhere"]])("refuses %s %s with its usage", async (...args) => {
  const { status, stderr } = await attempt([process.execPath, main, ...args]);
  expect(status).toBe(2);
  expect(stderr).toContain("npm run cluster");
});

test("--help tells", async () => {
  expect(await run([process.execPath, main, "--help"])).toContain("--nodes N");
});
