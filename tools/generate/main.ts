// `npm run generate`: writes every generated file. With --check it writes nothing and fails where one is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { generators } from "./generators.ts";

const root = join(import.meta.dirname, "..", "..");
const checkOnly = process.argv.includes("--check");
let stale = 0;
for (const { file, render } of generators) {
  const path = join(root, file);
  const current = readText(path);
  const wanted = await render(current);
  if (wanted === current) continue;
  stale += 1;
  if (checkOnly) console.error(`${file} is out of date`);
  else {
    writeFileSync(path, wanted);
    console.error(`wrote ${file}`);
  }
}
process.exit(checkOnly && stale > 0 ? 1 : 0);

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
