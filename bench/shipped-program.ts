// The program as the image has it (tools/image), in a folder of this machine: what users run is what is measured.
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { bundle, entryName, nodeFlags } from "../tools/image/bundle.ts";

const root = join(import.meta.dirname, "..");

/** The words that start it. */
export type ShippedProgram = readonly [node: string, ...words: string[]];

/** Once in each folder. */
export async function shippedProgram(folder: string): Promise<ShippedProgram> {
  const app = join(folder, "app");
  await mkdir(app);
  await writeFile(join(app, "package.json"), '{ "type": "module" }\n');
  await symlink(join(root, "node_modules"), join(app, "node_modules"));
  for (const { name, content } of await bundle(root)) await writeFile(join(app, name), content);
  return [process.execPath, ...nodeFlags, join(app, entryName)];
}

/** Without what a checkout keeps for the next start: nothing is kept where the root file system cannot be written. */
export function shippedEnvironment(set: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE: _cache, ...env } = process.env;
  return { ...env, ...set };
}
