// IPv6 as four unsigned 32-bit words, most significant first: text in (RFC 4291 section 2.2) and out (RFC 5952).
import { formatV4, scanV4 } from "./v4.ts";

export type Words = readonly [number, number, number, number];

/** The words, or the reason why not. Sloppy allows surplus zeros in a group, and leading zeros in a dotted tail. */
export function scanV6(text: string, sloppy: boolean): Words | string {
  if (text.includes("%")) return "it carries a zone (%...), which is not part of an address here: leave it out";
  const elision = text.indexOf("::");
  if (elision < 0) {
    const groups = scanGroups(text, sloppy);
    if (typeof groups === "string") return groups;
    return groups.length === 8 ? toWords(groups) : `it has ${groups.length} groups instead of eight, and no "::"`;
  }
  if (text.includes("::", elision + 1)) return 'it has "::" twice, or three colons in a row';
  const head = elision === 0 ? [] : scanGroups(text.slice(0, elision), sloppy, false);
  if (typeof head === "string") return head;
  const tail = elision + 2 === text.length ? [] : scanGroups(text.slice(elision + 2), sloppy);
  if (typeof tail === "string") return tail;
  const elided = 8 - head.length - tail.length;
  if (elided < 1) return 'it has eight groups or more beside "::", which stands for at least one';
  return toWords([...head, ...Array<number>(elided).fill(0), ...tail]);
}

/** Reads groups between colons; the last one may be a dotted IPv4 address, which makes two groups. */
function scanGroups(text: string, sloppy: boolean, dottedTail = true): number[] | string {
  const parts = text.split(":");
  if (parts.length > 8) return "it has more than eight groups";
  const groups: number[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.includes(".")) {
      if (!dottedTail || index !== parts.length - 1) return "a dotted IPv4 part may only stand at the end";
      const value = scanV4(part, sloppy);
      if (typeof value === "string") return `in its dotted part ${value}`;
      groups.push(value >>> 16, value & 0xffff);
      continue;
    }
    const group = scanGroup(part, sloppy);
    if (typeof group === "string") return group;
    groups.push(group);
  }
  return groups;
}

function scanGroup(text: string, sloppy: boolean): number | string {
  if (text === "") return "a group is empty: a single colon stands at an end";
  if (!/^[0-9a-fA-F]+$/.test(text)) return `the group ${JSON.stringify(text)} is not hexadecimal`;
  if (text.length > 4 && !sloppy) return `the group ${JSON.stringify(text)} has more than four digits`;
  const value = Number.parseInt(text, 16);
  return value > 0xffff ? `the group ${JSON.stringify(text)} is larger than ffff` : value;
}

function toWords(groups: readonly number[]): Words {
  const word = (index: number) => groups[index]! * 0x10000 + groups[index + 1]!;
  return [word(0), word(2), word(4), word(6)];
}

/** RFC 5952: lower case, no leading zeros, the first longest run of two or more zero groups elided; section 5 too. */
export function formatV6(w0: number, w1: number, w2: number, w3: number): string {
  if (w0 === 0 && w1 === 0 && w2 === 0xffff) return `::ffff:${formatV4(w3)}`;
  const groups = [w0 >>> 16, w0 & 0xffff, w1 >>> 16, w1 & 0xffff, w2 >>> 16, w2 & 0xffff, w3 >>> 16, w3 & 0xffff];
  const { from, length } = longestZeroRun(groups);
  return length < 2 ? hex(groups) : `${hex(groups.slice(0, from))}::${hex(groups.slice(from + length))}`;
}

function hex(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(":");
}

function longestZeroRun(groups: readonly number[]): { from: number; length: number } {
  let best = { from: 0, length: 0 };
  for (let i = 0; i < groups.length; i++) {
    let end = i;
    while (end < groups.length && groups[end] === 0) end += 1;
    if (end - i > best.length) best = { from: i, length: end - i };
    i = Math.max(i, end - 1);
  }
  return best;
}
