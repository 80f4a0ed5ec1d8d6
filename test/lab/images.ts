// The images of the lab, made once into the cache: a static `pause`, and busybox from Debian's busybox-static. Beside
// them a program that nodes run.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { cacheRoot } from "../../tools/kube/cache.ts";
import { run } from "./command.ts";
import { type Image, imageArchive } from "./image.ts";
import type { TarEntry } from "./tar.ts";

export const pauseImage = "lab.local/pause:1";
export const busyboxImage = "lab.local/busybox:1";

export interface LabImages {
  /** Holds both images; `ctr images import` takes it. */
  readonly archive: string;
  /** The static binary by itself; also the init of every node. */
  readonly pause: string;
  /** Lists the addresses in all sandboxes of a node. */
  readonly addresses: string;
}

const programs = ["pause", "addresses"] as const;
const sourceOf = (program: string) => join(import.meta.dirname, `${program}.c`);
const busybox = "/bin/busybox";
/** Part of the key: raise it when the images below change in what they hold. */
const layout = "2";

export async function ensureImages(cache: string = cacheRoot()): Promise<LabImages> {
  if (!existsSync(busybox)) throw new Error(`${busybox} is missing: install Debian's busybox-static`);
  const hash = createHash("sha256").update(layout).update(readFileSync(busybox));
  for (const program of programs) hash.update(readFileSync(sourceOf(program)));
  const folder = join(cache, "images", hash.digest("hex").slice(0, 12));
  if (!existsSync(folder)) await makeImages(folder);
  return { archive: join(folder, "images.tar"), pause: join(folder, "pause"), addresses: join(folder, "addresses") };
}

/** Into a folder of its own, renamed when it is whole: two makers at once do not meet; the second's is dropped. */
async function makeImages(folder: string): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const temporary = mkdtempSync(`${folder}.`);
  try {
    const binary = (program: string) => join(temporary, program);
    for (const program of programs)
      await run(["gcc", "-static", "-O2", "-Wall", "-o", binary(program), sourceOf(program)]);
    const applets = (await run([busybox, "--list"])).trim().split("\n");
    const images = [pauseOf(readFileSync(binary("pause"))), busyboxOf(readFileSync(busybox), applets)];
    writeFileSync(join(temporary, "images.tar"), imageArchive(images));
    renameSync(temporary, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

const folders: readonly TarEntry[] = ["etc/", "proc/", "sys/", "dev/"].map((path) => ({ kind: "folder", path }));

function pauseOf(content: Uint8Array): Image {
  const entries: TarEntry[] = [...folders, { kind: "file", path: "pause", content, executable: true }];
  return { name: pauseImage, entrypoint: ["/pause"], entries };
}

function busyboxOf(content: Uint8Array, applets: readonly string[]): Image {
  const links = applets
    .filter((applet) => applet !== "busybox")
    .map((applet): TarEntry => ({ kind: "link", path: `bin/${applet}`, target: "busybox" }));
  const entries: TarEntry[] = [
    ...folders,
    { kind: "folder", path: "tmp/", sticky: true },
    { kind: "folder", path: "bin/" },
    { kind: "file", path: "bin/busybox", content, executable: true },
    ...links,
    { kind: "file", path: "etc/passwd", content: Buffer.from("root:x:0:0:root:/:/bin/sh\n") },
  ];
  return { name: busyboxImage, entrypoint: ["/bin/sh"], entries };
}
