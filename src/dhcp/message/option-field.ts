// One field of options: pad, end, and code, length, data (RFC 2132 section 2). Three fields of a message can have them.
import { code } from "../options/codes.ts";

/**
 * Appends code, place and length of each option between `from` and `to`; returns whether the field ended cleanly. A
 * missing END is clean: many clients stop at the datagram's end. An option longer than the rest of the field is not.
 */
export function scanOptionField(bytes: Uint8Array, from: number, to: number, places: number[]): boolean {
  for (let at = from; at < to;) {
    const found = bytes[at]!;
    if (found === code.end) return true;
    if (found === code.pad) {
      at += 1;
      continue;
    }
    if (at + 1 >= to) return false;
    const length = bytes[at + 1]!;
    if (at + 2 + length > to) return false;
    places.push(found, at + 2, length);
    at += 2 + length;
  }
  return true;
}

/** Bytes of an option on the wire, cut into as many pieces as its length needs (RFC 3396 section 5). */
export function wireBytes(dataBytes: number): number {
  return dataBytes + 2 * Math.max(1, Math.ceil(dataBytes / 255));
}

/** Writes an option, in pieces of 255 bytes where it is longer, and returns where it ends. */
export function writeOption(into: Uint8Array, at: number, optionCode: number, data: Uint8Array): number {
  let end = at;
  let from = 0;
  do {
    const length = Math.min(255, data.length - from);
    into[end] = optionCode;
    into[end + 1] = length;
    end += 2;
    // Most options are a few bytes: for them a loop is faster than set().
    if (length <= 16) for (let i = 0; i < length; i++) into[end + i] = data[from + i]!;
    else into.set(length === data.length ? data : data.subarray(from, from + length), end);
    end += length;
    from += length;
  } while (from < data.length);
  return end;
}
