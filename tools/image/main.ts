// `npm run image [-- --out FILE] [-- --name NAME]`: an archive for `ctr images import`, `docker load` or `podman load`.
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";

import { cacheRoot } from "../kube/cache.ts";
import { ensureShim } from "../shim/ensure.ts";
import { buildImage } from "./build.ts";

const text = { type: "string" } as const;
const { values } = parseArgs({ options: { out: text, name: text } });
const file = resolve(values.out ?? `${cacheRoot()}/image/holdfast.tar`);
const log = (line: string) => console.error(`holdfast: ${line}`);
const shims = {
  native: (await ensureShim({ native: true, log })).path,
  fallback: (await ensureShim({ native: false, log })).path,
};
const { name, archive } = await buildImage({ name: values.name, shims });
mkdirSync(dirname(file), { recursive: true });
// Beside it and then renamed: whoever loads it meanwhile gets the old one or the new one.
writeFileSync(`${file}.new`, archive);
renameSync(`${file}.new`, file);
console.log(`${name} is in ${file} (${Math.ceil(archive.length / 1e6)} MB). On each node, or once into your registry:`);
console.log(`  ctr --namespace k8s.io images import ${file}`);
