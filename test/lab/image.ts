// A container image archive as of `docker save`, for `ctr images import`: one layer per image, no registry.
import { createHash } from "node:crypto";

import { tar, type TarEntry } from "./tar.ts";

export interface Image {
  /** As in `lab.local/busybox:1`. */
  readonly name: string;
  readonly entrypoint: readonly string[];
  readonly entries: readonly TarEntry[];
}

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

export function imageArchive(images: readonly Image[]): Buffer {
  const built = images.map(buildImage);
  const manifest = built.map(({ name, config, layer }) => ({
    Config: config.path,
    RepoTags: [name],
    Layers: [layer.path],
  }));
  const files = new Map(built.flatMap(({ config, layer }) => [config, layer]).map((file) => [file.path, file.content]));
  return tar([
    ...[...files].map(([path, content]) => ({ kind: "file" as const, path, content })),
    { kind: "file", path: "manifest.json", content: Buffer.from(JSON.stringify(manifest)) },
  ]);
}

function buildImage({ name, entrypoint, entries }: Image) {
  const layer = tar(entries);
  const config = Buffer.from(
    JSON.stringify({
      architecture: architectures[process.arch],
      os: "linux",
      config: { Entrypoint: entrypoint, Env: ["PATH=/bin"], WorkingDir: "/" },
      rootfs: { type: "layers", diff_ids: [`sha256:${digest(layer)}`] },
      history: [{ created_by: "holdfast lab" }],
    }),
  );
  return {
    name,
    config: { path: `${digest(config)}.json`, content: config },
    layer: { path: `${digest(layer)}.tar`, content: layer },
  };
}

const digest = (content: Uint8Array) => createHash("sha256").update(content).digest("hex");
