// The program as the image runs it: our sources and the packages that they use, in a few files of plain JavaScript that
// esbuild makes. A process of it takes 30 MiB less than one that reads types and packages for itself
// (docs/decisions/0021). Promised: the same sources give the same bytes; names stay as they are written, for stacks.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { build, type Plugin } from "esbuild";

export interface BundledFile {
  /** In one folder: whatever finds another by where it is itself finds it here. */
  readonly name: string;
  readonly content: Uint8Array;
}

/** What a process is started with. */
export const entryName = "holdfast.js";
/** For src/kube/process/heap-trim.ts. */
export const nodeFlags = ["--expose-gc"] as const;
/** Not bundled, since it brings a library of the system along. */
export const nativePackages = ["koffi"] as const;

/** Started as threads, by a path beside whoever starts them. */
const threads = ["src/dhcp/socket/thread.ts", "src/node/kernel/probe-thread.ts", "src/node/kernel/shut-thread.ts"];
/** Read as files, by a path beside whoever reads them. */
const data = ["src/apiserver/schema/builtin.json", "src/apiserver/schema/field-numbers.json"];

/** Packages that were written for `require` ask for it. */
const banner = `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;

export async function bundle(root: string): Promise<BundledFile[]> {
  const entries = [["holdfast", "bin/program.ts"], ...threads.map((path) => [basename(path, ".ts"), path])];
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(entries),
    outdir: "/",
    write: false,
    bundle: true,
    // What a command does not need stays in files that it does not read: `import()` is where they are cut.
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    // The compiler of the shim is the checkout's, and the image has it compiled.
    external: [...nativePackages, "../tools/*"],
    minifyWhitespace: true,
    minifySyntax: true,
    banner: { js: banner },
    logLevel: "silent",
    plugins: [besides, leftOut],
  });
  const made = outputFiles.map(({ path, contents }) => ({ name: basename(path), content: contents }));
  const read = data.map((path) => ({ name: basename(path), content: readFileSync(join(root, path)) }));
  return [...made, ...read].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A thread's file is named by its source, and is JavaScript here. */
const besides: Plugin = {
  name: "threads",
  setup(plan) {
    plan.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const contents = text.replace(
        /new URL\("\.\/([\w-]+)\.ts", import\.meta\.url\)/g,
        'new URL("./$1.js", import.meta.url)',
      );
      return contents === text ? undefined : { contents, loader: "ts" };
    });
  },
};

/** Parts of packages that nothing here uses, and that would be read all the same: 4 MiB of each process. */
const leftOut: Plugin = {
  name: "left out",
  setup(plan) {
    // Error messages in fifty languages.
    plan.onLoad({ filter: /\/node_modules\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
    // Clusters of processes, summaries, what Node says of itself.
    plan.onLoad({ filter: /\/node_modules\/prom-client\/index\.js$/ }, () => ({
      contents: ["Registry", "Counter", "Gauge", "Histogram"]
        .map((name) => `exports.${name} = require("./lib/${name.toLowerCase()}");`)
        .join("\n"),
    }));
  },
};
