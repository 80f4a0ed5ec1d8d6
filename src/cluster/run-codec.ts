// Sets of offsets as short text. Two forms, and whichever is shorter is written:
//   r:  for each run of neighbours two LEB128 numbers, the gap before it and its length less one; deflated; base64
//   b:  one bit for each offset, the lowest bit of the first byte first; deflated; base64
// Few runs in a wide range are short as runs; a full /16 in disorder is 8 KiB as bits, whatever is in it.
import { deflateRawSync, inflateRawSync } from "node:zlib";

import { orNone } from "../net/or-none.ts";

/** Offsets, both ends included. In a list: in order, and not touching each other. */
export interface Run {
  readonly first: bigint;
  readonly last: bigint;
}

/** Bits up to this offset only: 64 KiB, four times what can be written, since deflate may make up for that. */
const bitsMax = 1 << 19;
/** What deflate adds to what it cannot shorten: 5 bytes for each 64 KiB, and rounding. */
const deflateSlack = 16;
/** A text of 16 KiB that inflates to more than a MiB was not written here. */
const inflatedMax = 1 << 20;

export function packed(runs: readonly Run[]): string {
  const asRuns = asText("r", runBytes(runs)[0]);
  const bits = bitBytes(runs);
  const asBits = bits && asText("b", bits);
  return asBits !== undefined && asBits.length < asRuns.length ? asBits : asRuns;
}

/** As much as fits: the text, and how many offsets from 0 on it says everything about. */
export function shortened(runs: readonly Run[], maxChars: number): [text: string, end: bigint] {
  const maxBytes = Math.floor(((maxChars - 2) * 3) / 4) - deflateSlack;
  const [bytes, count] = runBytes(runs, maxBytes);
  const endOfRuns = runs[count]?.first ?? 0n;
  const endOfBits = BigInt(maxBytes * 8);
  if (endOfRuns >= endOfBits) return [asText("r", bytes), endOfRuns];
  const cut = runs.flatMap(({ first, last }) =>
    first >= endOfBits ? [] : [{ first, last: last < endOfBits ? last : endOfBits - 1n }],
  );
  return [asText("b", bitBytes(cut) ?? new Uint8Array()), endOfBits];
}

/** Undefined: nobody here wrote it. */
export function unpacked(text: string): Run[] | undefined {
  const [, form, base64 = ""] = /^([rb]):(.*)$/s.exec(text) ?? [];
  // Text that is cut, altered, or of another kind does not inflate.
  const inflated = () => inflateRawSync(Buffer.from(base64, "base64"), { maxOutputLength: inflatedMax });
  const bytes = form === undefined ? undefined : orNone(inflated);
  return bytes && (form === "r" ? readRuns(bytes) : readBits(bytes));
}

function asText(form: "r" | "b", bytes: Uint8Array): string {
  return `${form}:${deflateRawSync(bytes, { level: 9 }).toString("base64")}`;
}

/** Of as many runs, from the first on, as take no more bytes than that. */
function runBytes(runs: readonly Run[], maxBytes = Number.POSITIVE_INFINITY): [bytes: Uint8Array, count: number] {
  const bytes: number[] = [];
  let from = 0n;
  for (const [index, { first, last }] of runs.entries()) {
    const before = bytes.length;
    pushNumber(bytes, first - from);
    pushNumber(bytes, last - first);
    if (bytes.length > maxBytes) return [Uint8Array.from(bytes.slice(0, before)), index];
    from = last + 1n;
  }
  return [Uint8Array.from(bytes), runs.length];
}

function pushNumber(bytes: number[], value: bigint): void {
  let rest = value;
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
}

function readRuns(bytes: Uint8Array): Run[] | undefined {
  const numbers: bigint[] = [];
  let value = 0n;
  let shift = 0n;
  for (const byte of bytes) {
    value |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (shift > 140n) return undefined; // an IPv6 address has 128 bits
    if (byte >= 0x80) continue;
    numbers.push(value);
    value = shift = 0n;
  }
  if (shift !== 0n || numbers.length % 2 === 1) return undefined;
  let from = 0n;
  return Array.from({ length: numbers.length / 2 }, (_, i) => {
    const first = from + numbers[2 * i]!;
    const last = first + numbers[2 * i + 1]!;
    from = last + 1n;
    return { first, last };
  });
}

/** Undefined where the last offset is too high for bits. */
function bitBytes(runs: readonly Run[]): Uint8Array | undefined {
  const end = (runs.at(-1)?.last ?? -1n) + 1n;
  if (end > BigInt(bitsMax)) return undefined;
  const bytes = new Uint8Array(Math.ceil(Number(end) / 8));
  for (const { first, last } of runs) {
    for (let at = Number(first); at <= Number(last); at++) bytes[at >> 3]! |= 1 << (at & 7);
  }
  return bytes;
}

function readBits(bytes: Uint8Array): Run[] {
  const runs: Run[] = [];
  let first = -1;
  const end = bytes.length * 8;
  for (let at = 0; at <= end; at++) {
    const isSet = at < end && (bytes[at >> 3]! & (1 << (at & 7))) !== 0;
    if (isSet && first < 0) first = at;
    if (isSet || first < 0) continue;
    runs.push({ first: BigInt(first), last: BigInt(at - 1) });
    first = -1;
  }
  return runs;
}
