// An archive in memory as the kernel unpacks it at boot: cpio, "newc" (Documentation/driver-api/early-userspace).

export interface CpioFile {
  /** Without a leading slash. The folders above it are made. */
  readonly path: string;
  readonly content: Uint8Array | string;
}

const folderMode = 0o040755;
const fileMode = 0o100755;
const trailer = "TRAILER!!!";

export function cpio(files: readonly CpioFile[], folders: readonly string[] = []): Buffer {
  const all = new Set([...folders, ...files.flatMap(({ path }) => foldersAbove(path))]);
  return Buffer.concat([
    ...[...all].toSorted().map((path) => entry(path, folderMode, "")),
    ...files.map(({ path, content }) => entry(path, fileMode, content)),
    entry(trailer, 0, ""),
  ]);
}

function foldersAbove(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** The kernel takes entries of one inode and more than one link for one file: every inode is 0 here, with one link. */
function entry(path: string, mode: number, content: Uint8Array | string): Buffer {
  const body = Buffer.from(content);
  const name = Buffer.from(`${path}\0`);
  // inode, mode, user, group, links, time, size, device twice, special device twice, name's size, checksum
  const fields = [0, mode, 0, 0, 1, 0, body.length, 0, 0, 0, 0, name.length, 0];
  const head = `070701${fields.map((field) => field.toString(16).padStart(8, "0")).join("")}`;
  return Buffer.concat([padded(Buffer.concat([Buffer.from(head), name])), padded(body)]);
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
