// Debian's kernel for a guest, from its unpacked package: the image to boot, and modules with all that they need.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { unpackedFolder } from "../../../tools/bootstrap/unpacked.ts";
import { kernelPackage } from "./requirements.ts";

export interface Module {
  readonly name: string;
  readonly content: Uint8Array;
}

export class GuestKernel {
  readonly image: string;
  readonly #builtIn: ReadonlySet<string>;
  /** Key: the module's name as the kernel writes it, with underscores. */
  readonly #files: ReadonlyMap<string, string>;

  constructor(folder: string = unpackedFolder(kernelPackage)) {
    const boot = join(folder, "boot");
    const name = readdirSync(boot).find((file) => file.startsWith("vmlinuz-"));
    if (name === undefined) throw new Error(`${boot} has no kernel: remove ${folder}, and run the test again`);
    this.image = join(boot, name);
    const modules = join(folder, "lib/modules", name.slice("vmlinuz-".length));
    this.#builtIn = new Set(readFileSync(join(modules, "modules.builtin"), "utf8").split("\n").map(moduleName));
    const files = readdirSync(modules, { recursive: true, encoding: "utf8" }).filter((file) =>
      /\.ko(\.xz)?$/.test(file),
    );
    this.#files = new Map(files.map((file) => [moduleName(file), join(modules, file)]));
  }

  /** In the order in which they can be loaded. One that is built in needs no file, and is left out. */
  modules(names: readonly string[]): Module[] {
    const found = new Map<string, Module>();
    const visit = (name: string) => {
      if (found.has(name) || this.#builtIn.has(name)) return;
      const content = this.#read(name);
      for (const needed of dependencies(content)) visit(needed);
      found.set(name, { name, content });
    };
    for (const name of names) visit(name);
    return [...found.values()];
  }

  #read(name: string): Uint8Array {
    const file = this.#files.get(name);
    if (file === undefined) throw new Error(`${this.image} has no module ${name}, and it is not built in`);
    if (!file.endsWith(".xz")) return readFileSync(file);
    const unpacked = spawnSync("xz", ["--decompress", "--stdout", file], { maxBuffer: largestModule });
    if (unpacked.status !== 0)
      throw new Error(`xz could not read ${file}: ${unpacked.error?.message ?? String(unpacked.stderr)}`);
    return unpacked.stdout;
  }
}

/** Those of Debian's cloud kernel have 6 MB at most. */
const largestModule = 64 * 1024 * 1024;

function moduleName(file: string): string {
  return basename(file)
    .replace(/\.ko(\.xz)?$/, "")
    .replaceAll("-", "_");
}

/** `depends=` in the section .modinfo, which ends with a zero byte as every entry there. */
function dependencies(module: Uint8Array): string[] {
  const [, names = ""] = /\0depends=([^\0]*)\0/.exec(Buffer.from(module).toString("latin1")) ?? [];
  return names
    .split(",")
    .filter((name) => name !== "")
    .map(moduleName);
}
