// The image of daemon and controller, made from this checkout without docker: for the machine's own architecture.
//
// Promised: the same checkout on the same machine gives the same bytes. The Node in it is the one that the lock pins;
// its libraries are this machine's, so build on the oldest Debian that you trust.
import { join } from "node:path";

import { imageName } from "../generate/deploy/installation.ts";
import { version } from "../generate/deploy/version.ts";
import { imageArchive } from "./archive.ts";
import { bundle, entryName, nodeFlags } from "./bundle.ts";
import { appLayer, appPath, nodeLayer, nodePath, shimFolder, type Shims } from "./layers.ts";
import { librariesOf } from "./libraries.ts";
import { productionPackages } from "./packages.ts";

const root = join(import.meta.dirname, "..", "..");
const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

export interface BuildOptions {
  /** Default: the name that deploy/holdfast.yaml asks for. */
  readonly name?: string | undefined;
  readonly shims: Shims;
}

export async function buildImage({ name, shims }: BuildOptions): Promise<{ name: string; archive: Buffer }> {
  const architecture = architectures[process.arch];
  if (architecture === undefined) throw new Error(`no image for ${process.arch}: Holdfast runs on x64 and arm64`);
  const node = join(root, "node_modules", `node-linux-${process.arch}`);
  const addon = join(root, `node_modules/@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`);
  const program = join(node, "bin", "node");
  const libraries = await librariesOf([program, addon]);
  const packages = productionPackages(root, { os: "linux", cpu: process.arch });
  const app = await bundle(root);
  const plan = {
    name: name ?? imageName(version()),
    architecture,
    layers: [
      { about: "Node and its libraries", entries: nodeLayer(program, join(node, "LICENSE"), libraries) },
      { about: "Holdfast", entries: appLayer({ root, program: app, packages, shims }) },
    ],
    config: {
      Entrypoint: [nodePath, ...nodeFlags, `${appPath}/${entryName}`],
      Env: ["PATH=/usr/local/bin", "NODE_ENV=production", `HOLDFAST_SHIMS=${shimFolder}`],
      WorkingDir: "/",
      Labels: { "org.opencontainers.image.title": "holdfast", "org.opencontainers.image.version": version() },
    },
  };
  return { name: plan.name, archive: imageArchive(plan) };
}
