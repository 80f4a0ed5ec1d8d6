// The table of folders in ARCHITECTURE.md, from the table that the lint rule enforces.
import { existsSync } from "node:fs";
import { join } from "node:path";

import { folders } from "../lint/directions.ts";

const root = join(import.meta.dirname, "..", "..");

export function folderTable(): string {
  const rows = Object.entries(folders).map(([name, { about, imports, pure, http }]) => {
    const notes = [pure && "pure, browser-safe", http && "may speak HTTP"].filter(Boolean).join(", ");
    const built = existsSync(join(root, "src", name)) ? "yes" : "not yet";
    return `| src/${name} | ${about} | ${imports.join(", ") || "nothing"} | ${notes} | ${built} |`;
  });
  return ["| folder | what it is | imports | notes | built |", "|---|---|---|---|---|", ...rows].join("\n");
}
