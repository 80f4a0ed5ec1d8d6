// A search list of domains (RFC 3397): DNS names (RFC 1035 section 3.1) with pointers to earlier names (section 4.1.4).
// Pointers count from the first byte of the whole option, also where it was sent in pieces.
import { type Fault, fault } from "../fault.ts";
import { asciiBytes, asciiText, isPrintable } from "./bytes.ts";

const labelBytesMax = 63;
/** Length bytes included, and the root's. */
const nameBytesMax = 255;
/** A pointer is two bytes and may stand for 253: this bounds what one datagram can be blown up to. */
const namesMax = 64;
/** The largest offset that 14 bits can say. */
const pointerMax = 0x3fff;
const pointerMark = 0xc0;
const dot = 46;

const bad = fault("bad-value", "A list of domains has a name that ends too early, points forward, or is too long.");

/** Undefined where a name is no domain name: a label is empty or longer than 63 bytes, or the whole longer than 255. */
export function encodeDomains(names: readonly string[]): Uint8Array | undefined {
  const bytes: number[] = [];
  /** The end of a name, as text -> where it stands. */
  const said = new Map<string, number>();
  for (const name of names) {
    const labels = labelsOf(name);
    if (labels === undefined) return undefined;
    writeName(labels, bytes, said);
  }
  return Uint8Array.from(bytes);
}

function labelsOf(name: string): string[] | undefined {
  const labels = name.replace(/\.$/, "").split(".");
  const isName = labels.every((label) => {
    const bytes = asciiBytes(label);
    return bytes !== undefined && bytes.length > 0 && bytes.length <= labelBytesMax;
  });
  const nameBytes = labels.reduce((sum, label) => sum + label.length + 1, 1);
  return isName && nameBytes <= nameBytesMax ? labels : undefined;
}

function writeName(labels: readonly string[], bytes: number[], said: Map<string, number>): void {
  for (const [index, label] of labels.entries()) {
    const rest = labels.slice(index).join(".").toLowerCase();
    const before = said.get(rest);
    if (before !== undefined) {
      bytes.push(pointerMark | (before >> 8), before & 0xff);
      return;
    }
    if (bytes.length <= pointerMax) said.set(rest, bytes.length);
    bytes.push(label.length, ...asciiBytes(label)!);
  }
  bytes.push(0);
}

export function decodeDomains(bytes: Uint8Array): readonly string[] | Fault {
  const names: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const read = readName(bytes, at);
    if (read === undefined || names.length === namesMax) return bad;
    names.push(read.name);
    at = read.end;
  }
  return names.length > 0 ? names : bad;
}

interface ReadName {
  readonly name: string;
  /** Behind the name in the list, not behind what it points to. */
  readonly end: number;
}

function readName(bytes: Uint8Array, start: number): ReadName | undefined {
  const labels: string[] = [];
  let nameBytes = 1;
  let at = start;
  /** Each pointer leads to an earlier byte than the one before, so that they end. */
  let floor = start;
  let end: number | undefined;
  for (;;) {
    const length = bytes[at];
    if (length === undefined) return undefined;
    if (length === 0) return labels.length > 0 ? { name: labels.join("."), end: end ?? at + 1 } : undefined;
    if (length >= pointerMark) {
      const low = bytes[at + 1];
      if (low === undefined) return undefined;
      end ??= at + 2;
      at = ((length & ~pointerMark) << 8) | low;
      if (at >= floor) return undefined;
      floor = at;
      continue;
    }
    nameBytes += length + 1;
    const label = bytes.subarray(at + 1, at + 1 + length);
    const isLabel = label.length === length && isPrintable(label) && !label.includes(dot);
    if (length > labelBytesMax || nameBytes > nameBytesMax || !isLabel) return undefined;
    labels.push(asciiText(label));
    at += 1 + length;
  }
}
