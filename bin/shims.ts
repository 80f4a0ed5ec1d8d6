// Where `holdfast cni install` takes the plugin from: built beforehand where HOLDFAST_SHIMS says so (our image), else from the checkout.
import { join } from "node:path";

import type { ShimSource } from "../src/cni/shim/install/install.ts";

export const shims: ShimSource = async ({ native }) => {
  const folder = process.env["HOLDFAST_SHIMS"] ?? "";
  if (folder !== "") return { path: join(folder, native ? "native" : "fallback") };
  const { ensureShim } = await import("../tools/shim/ensure.ts");
  return ensureShim({ native, log: (line) => process.stderr.write(`holdfast: ${line}\n`) });
};
