// A random address of an interval, each with the same chance, without a bigint: IPv6 is drawn word by word.
import { type Address, compare, V4Address, V6Address } from "./address.ts";
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

/** Draws as many bits as the distance between the ends has, until the number is not beyond it; then adds it to the start. */
function drawV6(first: V6Address, last: V6Address, random: Random): V6Address {
  const span = difference(last, first);
  const mask = masksFor(span);
  for (let draws = 0; draws < drawsMax; draws++) {
    const word = (index: number) => (mask[index] === 0 ? 0 : (Math.floor(random() * two32) & mask[index]!) >>> 0);
    const drawn = new V6Address(word(0), word(1), word(2), word(3));
    if (compare(drawn, span) <= 0) return sum(first, drawn);
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

function difference(a: V6Address, b: V6Address): V6Address {
  const d3 = a.w3 - b.w3;
  const d2 = a.w2 - b.w2 - (d3 < 0 ? 1 : 0);
  const d1 = a.w1 - b.w1 - (d2 < 0 ? 1 : 0);
  const d0 = a.w0 - b.w0 - (d1 < 0 ? 1 : 0);
  return new V6Address(d0, d1 < 0 ? d1 + two32 : d1, d2 < 0 ? d2 + two32 : d2, d3 < 0 ? d3 + two32 : d3);
}

function sum(a: V6Address, b: V6Address): V6Address {
  const s3 = a.w3 + b.w3;
  const s2 = a.w2 + b.w2 + (s3 >= two32 ? 1 : 0);
  const s1 = a.w1 + b.w1 + (s2 >= two32 ? 1 : 0);
  const s0 = a.w0 + b.w0 + (s1 >= two32 ? 1 : 0);
  return new V6Address(s0, s1 % two32, s2 % two32, s3 % two32);
}
