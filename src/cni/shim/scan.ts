// Finds the configuration's own cniVersion without parsing JSON. Written in the subset that scriptc compiles.
//
// Promised: a string of digits and dots behind the key "cniVersion" of the outermost object, or "". A nested one
// (prevResult has one too) does not count. Not promised: that the rest is JSON.

const quote = 0x22;
const backslash = 0x5c;
/** "cniVersion" in ASCII. */
const key = "cniVersion";
/** "1.1.0" has 5; a longer one is none that we would repeat. */
const lengthLimit = 16;

export function cniVersionOf(stdin: Uint8Array): string {
  let depth = 0;
  let at = 0;
  while (at < stdin.length) {
    const byte = stdin[at] ?? 0;
    if (byte === quote) {
      const end = endOfString(stdin, at + 1);
      if (depth === 1 && isKey(stdin, at + 1, end)) {
        const version = versionBehind(stdin, end + 1);
        if (version !== "") return version;
      }
      at = end;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
    }
    at += 1;
  }
  return "";
}

/** Where the closing quote is, or the end of the bytes. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && (bytes[at] ?? 0) !== quote) at += (bytes[at] ?? 0) === backslash ? 2 : 1;
  return at < bytes.length ? at : bytes.length;
}

function isKey(bytes: Uint8Array, from: number, end: number): boolean {
  if (end - from !== key.length) return false;
  for (let index = 0; index < key.length; index++) {
    if ((bytes[from + index] ?? 0) !== key.charCodeAt(index)) return false;
  }
  return true;
}

/** The string behind a colon, if it is one of digits and dots. */
function versionBehind(bytes: Uint8Array, from: number): string {
  const colon = pastSpace(bytes, from);
  if ((bytes[colon] ?? 0) !== 0x3a) return "";
  const start = pastSpace(bytes, colon + 1);
  if ((bytes[start] ?? 0) !== quote) return "";
  const end = endOfString(bytes, start + 1);
  if (end >= bytes.length || end - start - 1 > lengthLimit) return "";
  let version = "";
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte !== 0x2e && (byte < 0x30 || byte > 0x39)) return "";
    version += String.fromCharCode(byte);
  }
  return version;
}

function pastSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isSpace(bytes[at] ?? 0)) at += 1;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
