// A tar archive in memory (POSIX ustar): the entries that an image layer needs; the same bytes for the same entries.

export type TarEntry =
  | { readonly kind: "file"; readonly path: string; readonly content: Uint8Array; readonly executable?: boolean }
  | { readonly kind: "folder"; readonly path: string; readonly sticky?: boolean }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

const block = 512;
/** The header's limits: a longer path is cut at a slash into prefix and name; nothing here needs an extension. */
const longestName = 100;
const longestPrefix = 155;

export function tar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const content = entry.kind === "file" ? entry.content : new Uint8Array();
    return [header(entry, content.length), content, Buffer.alloc((block - (content.length % block)) % block)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

function header(entry: TarEntry, size: number): Buffer {
  const target = entry.kind === "link" ? entry.target : "";
  if (Buffer.byteLength(target) > longestName) throw new RangeError(`too long for a tar header: ${target}`);
  const { prefix, name } = split(entry.path);
  const bytes = Buffer.alloc(block);
  bytes.write(name, 0);
  bytes.write(prefix, 345);
  octal(bytes, 100, 8, modeOf(entry));
  octal(bytes, 108, 8, 0); // user
  octal(bytes, 116, 8, 0); // group
  octal(bytes, 124, 12, size);
  octal(bytes, 136, 12, 0); // time: the same for every build
  bytes.write({ file: "0", link: "2", folder: "5" }[entry.kind], 156);
  bytes.write(target, 157);
  bytes.write("ustar\u000000", 257, "latin1");
  bytes.fill(" ", 148, 156); // the checksum counts itself as blanks
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\u0000 `, 148, "latin1");
  return bytes;
}

/** The shortest prefix that leaves a name that fits. */
function split(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= longestName) return { prefix: "", name: path };
  for (let slash = path.indexOf("/"); slash > 0; slash = path.indexOf("/", slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    const fits = name !== "" && Buffer.byteLength(name) <= longestName && Buffer.byteLength(prefix) <= longestPrefix;
    if (fits) return { prefix, name };
  }
  throw new RangeError(`too long for a tar header: ${path}`);
}

function modeOf(entry: TarEntry): number {
  if (entry.kind === "folder") return entry.sticky ? 0o1777 : 0o755;
  if (entry.kind === "link") return 0o777;
  return entry.executable ? 0o755 : 0o644;
}

function octal(bytes: Buffer, offset: number, width: number, value: number): void {
  bytes.write(value.toString(8).padStart(width - 1, "0"), offset, "latin1");
}
