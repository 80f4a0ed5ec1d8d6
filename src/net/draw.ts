// A random address of an interval, each with the same chance, without a bigint: IPv6 is drawn word by word.
import { addWords, type Address, compare, subtractWords, V4Address, V6Address } from "./address.ts";
import type { Interval } from "./interval.ts";

/** A number in [0, 1), as Math.random gives it. */
export type Random = () => number;

const two32 = 0x1_0000_0000;
/** Each draw misses with a chance below one half; 64 misses in a row mean that `random` is no random source. */
const drawsMax = 64;

export function drawFrom({ first, last }: Interval, random: Random): Address {
  if (first.family === 4) {
    const size = (last as V4Address).value - first.value + 1;
    return new V4Address(first.value + Math.floor(random() * size));
  }
  return drawV6(first, last as V6Address, random);
}

/** Draws as many bits as the distance between the ends has, until the number is not beyond it; adds it to the start. */
function drawV6(first: V6Address, last: V6Address, random: Random): V6Address {
  const span = subtractWords(last, first.w0, first.w1, first.w2, first.w3)!;
  const mask = masksFor(span);
  for (let draws = 0; draws < drawsMax; draws++) {
    const word = (index: number) => (mask[index] === 0 ? 0 : (Math.floor(random() * two32) & mask[index]!) >>> 0);
    const drawn = new V6Address(word(0), word(1), word(2), word(3));
    if (compare(drawn, span) <= 0) return addWords(first, drawn.w0, drawn.w1, drawn.w2, drawn.w3)!;
  }
  return first;
}

/** For each word the bits that a number up to `span` can have. */
function masksFor({ w0, w1, w2, w3 }: V6Address): readonly number[] {
  const words = [w0, w1, w2, w3];
  const top = words.findIndex((word) => word !== 0);
  return words.map((word, index) => {
    if (top < 0 || index < top) return 0;
    return index > top ? 0xffff_ffff : 0xffff_ffff >>> Math.clz32(word);
  });
}
