// Where `holdfast cni install` takes the plugin from: the built one of HOLDFAST_SHIMS (our image), else the checkout.
import { existsSync } from "node:fs";
import { join } from "node:path";

import { UsageError } from "../src/cli/cluster-command.ts";
import type { ShimSource } from "../src/cni/shim/install/install.ts";

export const shims: ShimSource = async ({ native }) => {
  const folder = process.env["HOLDFAST_SHIMS"] ?? "";
  if (folder === "") {
    const { ensureShim } = await import("../tools/shim/ensure.ts");
    return ensureShim({ native, log: (line) => process.stderr.write(`holdfast: ${line}\n`) });
  }
  const path = join(folder, native ? "native" : "fallback");
  if (existsSync(path)) return { path };
  throw new UsageError(
    `HOLDFAST_SHIMS is ${folder}, and ${path} is not there: unset it, or use the image as it was built.`,
    1,
  );
};
