// Texts that say a number: MAC addresses, UIDs and IPv4 addresses, as the number's bytes. Only in the one spelling that
// comes out again; any other is a text like others.
import { type Reader, hexOf } from "./bytes.ts";
import { tags } from "./tags.ts";

const macPattern = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/;
const uidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const part = "(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])";
const ipv4Pattern = new RegExp(`^${part}\\.${part}\\.${part}\\.${part}$`);

export function patternOf(text: string): { readonly tag: number; readonly bytes: readonly number[] } | undefined {
  const { length } = text;
  if (length === 17 && macPattern.test(text)) return { tag: tags.mac, bytes: bytesOf(text.replaceAll(":", "")) };
  if (length === 36 && uidPattern.test(text)) return { tag: tags.uid, bytes: bytesOf(text.replaceAll("-", "")) };
  if (length < 7 || length > 15) return undefined;
  const parts = ipv4Pattern.exec(text);
  return parts === null ? undefined : { tag: tags.ipv4, bytes: parts.slice(1).map(Number) };
}

export function readPattern(from: Reader, tag: number): string {
  const next = () => from.packed.charCodeAt(from.at++);
  if (tag === tags.ipv4) return `${next()}.${next()}.${next()}.${next()}`;
  const hex = () => hexOf(next());
  // Joined: V8 keeps what is added up as its parts, and a UID took 0.8 KB for as long as somebody had it.
  if (tag === tags.mac) return Array.from({ length: 6 }, hex).join(":");
  if (tag !== tags.uid) throw new RangeError(`A packed object has no value with the tag ${tag}.`);
  return [4, 2, 2, 2, 6].map((length) => Array.from({ length }, hex).join("")).join("-");
}

function bytesOf(hex: string): number[] {
  return Array.from({ length: hex.length / 2 }, (_, at) => Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16));
}
