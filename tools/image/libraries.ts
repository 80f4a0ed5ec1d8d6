// The shared libraries that a program is started with on this machine, asked of its own loader.
import { realpathSync } from "node:fs";

import { run } from "../../test/lab/command.ts";

export interface Library {
  /** Where the loader looks for it, and where it stands in the image. */
  readonly path: string;
  /** The file behind the links. */
  readonly file: string;
}

export async function librariesOf(programs: readonly string[]): Promise<Library[]> {
  const outputs = await Promise.all(programs.map((program) => run(["ldd", program])));
  const paths = new Set(outputs.flatMap(parseLdd));
  return [...paths].sort().map((path) => ({ path, file: realpathSync(path) }));
}

/** Lines `name => path (address)`, `path (address)` for the loader itself, and the kernel's own, which is no file. */
export function parseLdd(output: string): string[] {
  return output
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("linux-vdso") && line !== "statically linked")
    .map((line) => {
      const path = /(?:=> )?(\/\S+) \(0x[0-9a-f]+\)$/.exec(line)?.[1];
      if (path === undefined) throw new Error(`this machine lacks a library: ldd says ${JSON.stringify(line)}`);
      return path;
    });
}
