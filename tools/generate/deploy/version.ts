// The version of this checkout, as its package.json says.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const file = join(import.meta.dirname, "..", "..", "..", "package.json");

export function version(): string {
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
