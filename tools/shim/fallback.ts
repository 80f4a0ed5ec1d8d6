// The portable shim: one file of JavaScript that begins with the path of the Node that runs it.
import { launcherOf } from "../../src/cni/shim/install/wish.ts";
import { portableSource, root } from "./sources.ts";

/** CommonJS, because a file without an extension is that to every Node; for the oldest Node that a host may have. */
export async function buildFallback(nodePath: string): Promise<string> {
  // Loaded here: where the fallback is in the cache already, an image need not carry the bundler.
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [portableSource],
    absWorkingDir: root,
    bundle: true,
    write: false,
    format: "cjs",
    platform: "node",
    target: "node18",
    logLevel: "silent",
  });
  const [bundle] = outputFiles;
  if (bundle === undefined) throw new Error(`esbuild made nothing of ${portableSource}`);
  return launcherOf(nodePath, bundle.text);
}
