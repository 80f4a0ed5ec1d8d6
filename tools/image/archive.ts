// An image as one archive in two forms at once: an OCI image layout (containerd, podman, skopeo, crane), and beside it
// the manifest.json of `docker save`, on the same blobs. The same entries always give the same bytes.
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

import { tar, type TarEntry } from "../../test/lab/tar.ts";

export interface ImagePlan {
  /** With its tag: `localhost/holdfast:0.1.0`. */
  readonly name: string;
  /** As Go calls it: `amd64`. */
  readonly architecture: string;
  readonly layers: readonly { readonly about: string; readonly entries: readonly TarEntry[] }[];
  /** `Entrypoint`, `Env` and the like, as the OCI image configuration has them. */
  readonly config: Readonly<Record<string, unknown>>;
}

const oci = "application/vnd.oci.image";
/** Every build has the same: an image is named by what it holds, not by when it was made. */
const created = "1970-01-01T00:00:00Z";

export function imageArchive({ name, architecture, layers, config }: ImagePlan): Buffer {
  const packed = layers.map(({ about, entries }) => {
    const plain = tar(entries);
    return { about, diffId: digest(plain), blob: blob(gzipSync(plain), `${oci}.layer.v1.tar+gzip`) };
  });
  const configBlob = jsonBlob(`${oci}.config.v1+json`, {
    architecture,
    os: "linux",
    created,
    config,
    rootfs: { type: "layers", diff_ids: packed.map(({ diffId }) => diffId) },
    history: packed.map(({ about }) => ({ created, created_by: about })),
  });
  const manifest = jsonBlob(`${oci}.manifest.v1+json`, {
    schemaVersion: 2,
    mediaType: `${oci}.manifest.v1+json`,
    config: configBlob.descriptor,
    layers: packed.map((layer) => layer.blob.descriptor),
  });
  const annotations = { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name };
  const index = {
    schemaVersion: 2,
    mediaType: `${oci}.index.v1+json`,
    manifests: [{ ...manifest.descriptor, annotations }],
  };
  const dockers = [{ Config: configBlob.path, RepoTags: [name], Layers: packed.map((layer) => layer.blob.path) }];
  return tar([
    json("oci-layout", { imageLayoutVersion: "1.0.0" }),
    json("index.json", index),
    json("manifest.json", dockers),
    { kind: "folder", path: "blobs/" },
    { kind: "folder", path: "blobs/sha256/" },
    ...[configBlob, manifest, ...packed.map((layer) => layer.blob)].map(({ path, content }): TarEntry => ({
      kind: "file",
      path,
      content,
    })),
  ]);
}

function json(path: string, value: unknown): TarEntry {
  return { kind: "file", path, content: Buffer.from(JSON.stringify(value)) };
}

function jsonBlob(mediaType: string, value: unknown) {
  return blob(Buffer.from(JSON.stringify(value)), mediaType);
}

function blob(content: Uint8Array, mediaType: string) {
  const named = digest(content);
  const path = `blobs/${named.replace(":", "/")}`;
  return { path, content, descriptor: { mediaType, digest: named, size: content.length } };
}

const digest = (content: Uint8Array) => `sha256:${createHash("sha256").update(content).digest("hex")}`;
