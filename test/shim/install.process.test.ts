// `holdfast cni install` as a person or an init container runs it, and the installed shim, started as by a runtime.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { coldBuildTimeoutMs, ensureShim } from "../../tools/shim/ensure.ts";
import { invoke } from "./invoke.ts";
import { answering, ScriptedServer } from "./scripted-server.ts";

const checkout = join(import.meta.dirname, "..", "..");
let folder: string;
beforeAll(() => ensureShim({ native: true }), coldBuildTimeoutMs);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-install-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function holdfast(args: readonly string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(checkout, "bin", "holdfast.ts"), "cni", "install", ...args],
    { env: { ...process.env, ...env }, encoding: "utf8" },
  );
  return { status, out: stdout.trim().split("\n"), err: stderr };
}

async function serves(path: string, env: Record<string, string>, server: ScriptedServer): Promise<void> {
  const ended = await invoke(path, { env: { CNI_COMMAND: "ADD", ...env }, stdin: "{}" });
  expect(ended).toMatchObject({ status: 0, stdout: Buffer.from('{"ok":true}') });
  expect(server.requests.length).toBeGreaterThan(0);
}

test("on this host: under two names, with a socket of one's own; the second time nothing changes", async () => {
  await using server = await ScriptedServer.start(answering(0, '{"ok":true}'));
  const bin = join(folder, "bin");
  const args = ["--bin-dir", bin, "--also-as", "whereabouts", "--socket", server.path];
  expect(holdfast(args)).toMatchObject({
    status: 0,
    out: [`${bin}/holdfast.socket: written`, `${bin}/holdfast: written`, `${bin}/whereabouts: written`],
  });
  await serves(join(bin, "holdfast"), {}, server);
  await serves(join(bin, "whereabouts"), {}, server);
  const inodes = () => readdirSync(bin).map((name) => statSync(join(bin, name)).ino);
  const before = inodes();
  expect(holdfast(args).out).toEqual(
    ["holdfast.socket", "holdfast", "whereabouts"].map((name) => `${bin}/${name}: is current`),
  );
  expect(inodes()).toEqual(before);
});

test("from an init container: below the host's root, with a configuration that appears last", async () => {
  await using server = await ScriptedServer.start(answering(0, '{"ok":true}'));
  const conf = join(folder, "10-blue.conf");
  const text = JSON.stringify({
    cniVersion: "1.0.0",
    name: "blue",
    type: "macvlan",
    ipam: { type: "holdfast", range: "10.0.0.0/24" },
  });
  writeFileSync(conf, text);
  const { status, out } = holdfast(["--root", folder, "--conf", conf]);
  expect({ status, out }).toEqual({
    status: 0,
    out: ["/opt/cni/bin/holdfast: written", "/etc/cni/net.d/10-blue.conf: written"],
  });
  expect(readFileSync(join(folder, "etc/cni/net.d/10-blue.conf"), "utf8")).toBe(text);
  await serves(join(folder, "opt/cni/bin/holdfast"), { HOLDFAST_SOCKET: server.path }, server);
});

test("the fallback on this host runs on the Node that installed it", async () => {
  await using server = await ScriptedServer.start(answering(0, '{"ok":true}'));
  expect(holdfast(["--bin-dir", folder, "--fallback"])).toMatchObject({ status: 0 });
  expect(readFileSync(join(folder, "holdfast"), "utf8").split("\n", 1)).toEqual([`#!${process.execPath}`]);
  await serves(join(folder, "holdfast"), { HOLDFAST_SOCKET: server.path }, server);
});

test("the fallback from an init container brings its Node along", () => {
  expect(holdfast(["--root", folder, "--fallback"])).toMatchObject({
    status: 0,
    out: ["/opt/cni/bin/holdfast-node: written", "/opt/cni/bin/holdfast: written"],
  });
  expect(readFileSync(join(folder, "opt/cni/bin/holdfast"), "utf8").split("\n", 1)).toEqual([
    "#!/opt/cni/bin/holdfast-node",
  ]);
  const node = join(folder, "opt/cni/bin/holdfast-node");
  const run = spawnSync(node, [join(folder, "opt/cni/bin/holdfast")], {
    env: { CNI_COMMAND: "VERSION" },
    input: "",
    encoding: "utf8",
  });
  expect(run).toMatchObject({ status: 0, stdout: expect.stringContaining("supportedVersions") });
});

test("where the native one cannot be built the fallback is installed, and it is said why", async () => {
  await using server = await ScriptedServer.start(answering(0, '{"ok":true}'));
  const empty = join(folder, "empty");
  mkdirSync(empty);
  // Neither compiler nor cache; flock is needed to build anything.
  const env = { HOLDFAST_CACHE: join(folder, "cache"), PATH: empty };
  spawnSync("ln", ["-s", "/usr/bin/flock", "/bin/sh", "/bin/cat", empty]);
  const { status, out } = holdfast(["--bin-dir", join(folder, "bin")], env);
  expect(out[0]).toMatch(
    /native plugin is not used: it cannot be built here.*needs clang and ld\.lld.*runs on Node is installed/,
  );
  expect(status).toBe(0);
  await serves(join(folder, "bin/holdfast"), { HOLDFAST_SOCKET: server.path }, server);
});

test("where neither can be built it is said what an image must carry", () => {
  const cache = join(folder, "cache");
  writeFileSync(cache, "a file, where a folder is needed");
  const { status, err } = holdfast(["--bin-dir", join(folder, "bin")], { HOLDFAST_CACHE: cache });
  expect({ status, err }).toEqual({
    status: 1,
    err: expect.stringMatching(/^holdfast: there is no plugin to install.*HOLDFAST_CACHE/),
  });
  expect(existsSync(join(folder, "bin"))).toBe(false);
});

test("another's plugin is kept, unless forced, and then backed up", () => {
  writeFileSync(join(folder, "whereabouts"), "upstream");
  const refused = holdfast(["--bin-dir", folder, "--name", "whereabouts"]);
  expect(refused).toMatchObject({ status: 1, err: expect.stringContaining("is not Holdfast's: nothing was changed") });
  expect(readdirSync(folder)).toEqual(["whereabouts"]);
  const dry = holdfast(["--bin-dir", folder, "--name", "whereabouts", "--force", "--dry-run"]);
  expect(dry.out).toEqual([
    `${folder}/whereabouts: would be kept as ${folder}/whereabouts.before-holdfast`,
    `${folder}/whereabouts: would be replaced`,
  ]);
  expect(readdirSync(folder)).toEqual(["whereabouts"]);
  expect(holdfast(["--bin-dir", folder, "--name", "whereabouts", "--force"]).status).toBe(0);
  expect(readFileSync(join(folder, "whereabouts.before-holdfast"), "utf8")).toBe("upstream");
  expect(holdfast(["--bin-dir", folder, "--name", "whereabouts"]).out).toEqual([`${folder}/whereabouts: is current`]);
});

test("whereabouts' files only where asked for, and a flat file of one's own stays", () => {
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, "kind: Config\n");
  expect(holdfast(["--root", folder]).status).toBe(0);
  expect(existsSync(join(folder, "etc"))).toBe(false);
  const flat = join(folder, "etc/cni/net.d/whereabouts.d/whereabouts.conf");
  mkdirSync(join(folder, "etc/cni/net.d/whereabouts.d"), { recursive: true });
  writeFileSync(flat, '{"log_level":"debug"}');
  expect(holdfast(["--root", folder, "--whereabouts-kubeconfig", kubeconfig])).toMatchObject({ status: 0 });
  expect(readFileSync(flat, "utf8")).toBe('{"log_level":"debug"}');
  const written = join(folder, "etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig");
  expect(readFileSync(written, "utf8")).toBe("kind: Config\n");
  expect(statSync(written).mode & 0o777).toBe(0o600);
});

test.each([
  [["--bin-dir", "opt"], 1, /--bin-dir "opt" is not absolute/],
  [["--conf", "/nowhere.conf", "--bin-dir", "/tmp/x"], 1, /\/nowhere\.conf cannot be read/],
  [["--name", "../x"], 1, /is no name for the plugin/],
  [["--node", "node", "--fallback"], 1, /--node "node" is not absolute/],
  [["--unknown"], 2, /unknown option/],
])("%j is refused", (args, status, words) => {
  expect(holdfast(["--dry-run", ...args])).toMatchObject({ status, err: expect.stringMatching(words) });
});
