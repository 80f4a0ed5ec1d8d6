// Which of several addresses of one owner each range gives, where ranges overlap. Pure.
import { overlaps, type Prefix } from "../../net/prefix.ts";

/**
 * The part of each range: overlapping ranges get different parts, so that one interface can hold an address of each.
 * Each gets the lowest part that no earlier overlapping range has: the same configuration gives the same parts.
 */
export function partsOf(prefixes: readonly Prefix[]): number[] {
  const parts: number[] = [];
  for (const [index, prefix] of prefixes.entries()) {
    const used = new Set(parts.filter((_, earlier) => overlaps(prefixes[earlier]!, prefix)));
    let part = 0;
    while (used.has(part)) part += 1;
    parts[index] = part;
  }
  return parts;
}
