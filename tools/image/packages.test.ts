import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { productionPackages } from "./packages.ts";

const root = join(import.meta.dirname, "..", "..");

test("every dependency is in it, with what it needs on this platform, and nothing for development", () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<
    "dependencies" | "devDependencies",
    Record<string, string>
  >;
  const found = productionPackages(root, { os: "linux", cpu: "arm64" });
  for (const name of Object.keys(dependencies)) expect(found).toContain(`node_modules/${name}`);
  for (const name of Object.keys(devDependencies)) expect(found).not.toContain(`node_modules/${name}`);
  expect(found.filter((path) => path.includes("koffi"))).toEqual([
    "node_modules/@koromix/koffi-linux-arm64",
    "node_modules/koffi",
  ]);
  expect(found.filter((path) => path.includes("node-linux"))).toEqual([]);
});
