// The compiled shim.
import { execFileSync } from "node:child_process";

import { expect, test } from "vitest";

import { ensureShim } from "../../tools/shim/ensure.ts";
import { shimSuite } from "./suite.ts";

shimSuite("native", { native: true, crowd: 200 });

test("needs nothing of the host: it is linked statically", async () => {
  const { path, linkage } = await ensureShim({ native: true });
  expect(linkage).toBe("static");
  expect(execFileSync("readelf", ["--program-headers", path], { encoding: "utf8" })).not.toContain("INTERP");
});
