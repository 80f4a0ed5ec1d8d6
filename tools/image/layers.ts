// The content of the image: Node with its libraries in one layer, ours in the next: a new release moves a few MB only.
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { TarEntry } from "../../test/lab/tar.ts";
import { type BundledFile, nativePackages } from "./bundle.ts";
import type { Library } from "./libraries.ts";

export const nodePath = "/usr/local/bin/node";
/** The program, and the plugins of which `holdfast cni install` puts one into place. */
export const appPath = "/app";
export const shimFolder = `${appPath}/shims`;

const withoutSlash = (path: string) => path.replace(/^\//, "");
const file = (path: string, content: Uint8Array, executable = false): TarEntry => ({
  kind: "file",
  path: withoutSlash(path),
  content,
  executable,
});

export function nodeLayer(node: string, license: string, libraries: readonly Library[]): TarEntry[] {
  const files = [
    file(nodePath, readFileSync(node), true),
    file("/usr/local/share/doc/node/LICENSE", readFileSync(license)),
    ...libraries.map(({ path, file: source }) => file(path, readFileSync(source), true)),
    file("/etc/passwd", Buffer.from("root:x:0:0:root:/:/bin/false\nholdfast:x:65532:65532:holdfast:/:/bin/false\n")),
    file("/etc/nsswitch.conf", Buffer.from("hosts: files dns\n")),
  ];
  const bare = ["proc", "sys", "dev", "run", "var", "host"].map((path): TarEntry => ({
    kind: "folder",
    path: `${path}/`,
  }));
  // Runtimes name namespaces below /var/run, hosts have them in /run.
  const links: TarEntry[] = [{ kind: "link", path: "var/run", target: "../run" }];
  return [...foldersOf(files), ...bare, { kind: "folder", path: "tmp/", sticky: true }, ...links, ...files];
}

/** Files on this machine: the compiled plugin, and the one that runs on Node. */
export interface Shims {
  readonly native: string;
  readonly fallback: string;
}

export interface AppParts {
  readonly root: string;
  readonly program: readonly BundledFile[];
  /** Paths below the root. */
  readonly packages: readonly string[];
  readonly shims: Shims;
}

export function appLayer({ root, program, packages, shims }: AppParts): TarEntry[] {
  const isNative = (path: string) => nativePackages.some((name) => path.includes(name));
  // A package that is in the program already leaves its license beside it.
  const ofPackages = packages.flatMap((path) => walk(root, path, isNative(path) ? isRunnable : isLicense));
  const paths = ["package.json", "LICENSE", ...ofPackages];
  const files = [
    ...program.map(({ name, content }) => file(`${appPath}/${name}`, content)),
    ...paths.map((path) => file(`${appPath}/${path}`, readFileSync(join(root, path)))),
  ];
  for (const kind of ["native", "fallback"] as const) {
    files.push(file(`${shimFolder}/${kind}`, readFileSync(shims[kind]), true));
  }
  return [...foldersOf(files), ...files];
}

const isLicense = (path: string) => /\/(LICENSE|LICENCE|COPYING|NOTICE)[^/]*$/i.test(path);

/** What can run of a package, and its license. By the kind of file only: which folders it needs is its own affair. */
function isRunnable(path: string): boolean {
  // Node here is linked to glibc.
  return isLicense(path) || (/\.(js|cjs|mjs|json|node|wasm)$/.test(path) && !/\/musl_\w+\//.test(path));
}

function walk(root: string, folder: string, accept: (path: string) => boolean): string[] {
  return readdirSync(join(root, folder))
    .sort()
    .flatMap((name) => {
      const path = `${folder}/${name}`;
      const stats = lstatSync(join(root, path));
      if (stats.isDirectory()) return name === "node_modules" ? [] : walk(root, path, accept);
      return stats.isFile() && accept(path) ? [path] : [];
    });
}

/** Every folder above the files, parents first: a layer that does not name them leaves their mode to chance. */
function foldersOf(files: readonly TarEntry[]): TarEntry[] {
  const folders = new Set(
    files.flatMap(({ path }) => {
      const parts = path.split("/").slice(0, -1);
      return parts.map((_, index) => `${parts.slice(0, index + 1).join("/")}/`);
    }),
  );
  return [...folders].sort().map((path) => ({ kind: "folder", path }));
}
