// The Internet checksum (RFC 1071): the one's complement of the one's complement sum of 16-bit words.

/** Adds the words between `from` and `to`; an odd last byte is the upper half of a word. Below 2^53 for any buffer. */
export function sumWords(bytes: Uint8Array, from: number, to: number, start: number): number {
  let sum = start;
  const even = to - ((to - from) & 1);
  for (let at = from; at < even; at += 2) sum += (bytes[at]! << 8) | bytes[at + 1]!;
  return even < to ? sum + (bytes[even]! << 8) : sum;
}

/** Carries added back in, and complemented: 0 where the sum covers a correct checksum. */
export function fold(sum: number): number {
  let folded = sum;
  while (folded > 0xffff) folded = (folded % 0x1_0000) + Math.floor(folded / 0x1_0000);
  return ~folded & 0xffff;
}
