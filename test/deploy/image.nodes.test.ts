// The image, unpacked and run with nothing around it: what is missing in it is missing here too.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

import { buildImage } from "../../tools/image/build.ts";
import { run } from "../lab/command.ts";

const checkout = join(import.meta.dirname, "..", "..");

interface Descriptor {
  readonly digest: string;
  readonly size: number;
}
interface Config {
  readonly config: { readonly Entrypoint: readonly string[]; readonly Env: readonly string[] };
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

let folder: string;
let root: string;
let built: { name: string; archive: Buffer };
let config: Config;
let manifest: { config: Descriptor; layers: readonly Descriptor[] };
let shims: { native: string; fallback: string };

const blob = ({ digest }: Descriptor) => join(folder, "blobs", digest.replace(":", "/"));
const readJson = (path: string) => JSON.parse(readFileSync(path, "utf8")) as unknown;
const sha256 = (content: Uint8Array) => `sha256:${createHash("sha256").update(content).digest("hex")}`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-image-"));
  root = join(folder, "root");
  mkdirSync(root);
  shims = { native: join(folder, "native"), fallback: join(folder, "fallback") };
  for (const [kind, path] of Object.entries(shims)) writeFileSync(path, `stand-in for ${kind}\n`);
  built = await buildImage({ shims });
  await run(["tar", "-xf", "-", "-C", folder], { input: built.archive });
  const index = readJson(join(folder, "index.json")) as { manifests: [Descriptor] };
  manifest = readJson(blob(index.manifests[0])) as typeof manifest;
  config = readJson(blob(manifest.config)) as Config;
  for (const layer of manifest.layers) await run(["tar", "-xzf", blob(layer), "-C", root]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As a container starts it, but for its namespaces. */
function inside(...args: readonly string[]): Promise<string> {
  const env = Object.fromEntries(config.config.Env.map((line) => line.split("=") as [string, string]));
  return run(["/usr/sbin/chroot", root, ...args], { env });
}

test("every blob is what its name says, in both forms", () => {
  for (const descriptor of [manifest.config, ...manifest.layers]) {
    const content = readFileSync(blob(descriptor));
    expect(sha256(content)).toBe(descriptor.digest);
    expect(content.length).toBe(descriptor.size);
  }
  const [docker] = readJson(join(folder, "manifest.json")) as [
    { Config: string; RepoTags: string[]; Layers: string[] },
  ];
  expect(docker.RepoTags).toEqual([built.name]);
  expect([docker.Config, ...docker.Layers].map((path) => join(folder, path))).toEqual(
    [manifest.config, ...manifest.layers].map(blob),
  );
});

test("the layers' digests are those of what they unpack to", async () => {
  for (const [index, layer] of manifest.layers.entries()) {
    const plain = await run(["sh", "-c", `gzip -dc ${blob(layer)} | sha256sum`]);
    expect(`sha256:${plain.split(" ")[0]}`).toBe(config.rootfs.diff_ids[index]);
  }
});

test("the same checkout makes the same bytes", async () => {
  const again = await buildImage({ shims });
  expect(sha256(again.archive)).toBe(sha256(built.archive));
});

test("it is called what deploy/holdfast.yaml asks for", () => {
  const text = readFileSync(join(checkout, "deploy", "holdfast.yaml"), "utf8");
  const used = parseAllDocuments(text)
    .map((document) => JSON.stringify(document.toJS()))
    .flatMap((object) => [...object.matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image));
  expect(new Set(used)).toEqual(new Set([built.name]));
});

test("the command runs in it", async () => {
  const { version } = readJson(join(checkout, "package.json")) as { version: string };
  expect(await inside(...config.config.Entrypoint, "--version")).toBe(`${version}\n`);
  expect(await inside(...config.config.Entrypoint, "--help")).toContain("Commands:");
});

test("every command's program loads in it", async () => {
  const commands = /Commands:\n([\s\S]*)$/.exec(await inside(...config.config.Entrypoint, "--help"))?.[1] ?? "";
  const names = [...commands.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name!).filter((name) => name !== "help");
  expect(names).toContain("controller");
  for (const name of names)
    expect(await inside(...config.config.Entrypoint, name, "--help")).toContain(`Usage: holdfast ${name}`);
});

test("what a command loads when it works is in it: the controller and the agent ask for a cluster, and find none", async () => {
  for (const command of [["controller"], ["node", "--node-name", "a"], ["agent", "--pool", "a/b=lo"], ["pools"]]) {
    const asked = inside(...config.config.Entrypoint, ...command, "--kubeconfig", "/none");
    await expect(asked).rejects.toThrow("There is no kubeconfig at /none");
  }
});

test("a process of it can give back what V8 keeps of its garbage", async () => {
  const flags = config.config.Entrypoint.slice(1, -1);
  expect(await inside("/usr/local/bin/node", ...flags, "--print", "typeof gc")).toBe("function\n");
});

test("the kernel's calls work in it", async () => {
  const script = `import koffi from "koffi"; console.log(koffi.load(null).func("int close(int)")(-1));`;
  writeFileSync(join(root, "app", "call.mjs"), script);
  expect(await inside("/usr/local/bin/node", "/app/call.mjs")).toBe("-1\n");
});

test("every thread that the program starts is in it, and loads", async () => {
  const texts = readdirSync(join(root, "app"))
    .filter((name) => name.endsWith(".js"))
    .map((name) => readFileSync(join(root, "app", name), "utf8"));
  const named = texts.flatMap((text) => [...text.matchAll(/new URL\("\.\/([^"]+)",import\.meta\.url\)/g)]);
  const threads = named.map(([, name]) => name!).toSorted();
  expect(threads).toEqual(["probe-thread.js", "shut-thread.js", "thread.js"]);
  // What they import is loaded; what they are started with is not given, and they say so or wait for it.
  const script = `import { Worker } from "node:worker_threads";
for (const name of ${JSON.stringify(threads)}) {
  const thread = new Worker(new URL("./" + name, import.meta.url));
  thread.on("error", (error) => { if (/find (module|package)/.test(error.message)) console.log(name, error.message); });
  thread.on("online", () => setImmediate(() => thread.terminate()));
}`;
  writeFileSync(join(root, "app", "threads.mjs"), script);
  expect(await inside("/usr/local/bin/node", "/app/threads.mjs")).toBe("");
});

test("no sources, no tests, no tools, nothing for development; of a package that is bundled, the license", () => {
  for (const path of ["app/src", "app/test", "app/node_modules/vitest", "app/node_modules/zod/package.json"])
    expect(existsSync(join(root, path)), path).toBe(false);
  expect(existsSync(join(root, "app/node_modules/zod/LICENSE"))).toBe(true);
});

test("both plugins are in it, and the command is told where", () => {
  const variable = config.config.Env.find((line) => line.startsWith("HOLDFAST_SHIMS="));
  const path = variable?.split("=")[1] ?? "";
  for (const kind of ["native", "fallback"])
    expect(readFileSync(join(root, path, kind), "utf8")).toBe(`stand-in for ${kind}\n`);
});
