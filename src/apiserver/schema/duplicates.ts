// Finds keys that a JSON text gives twice, which JSON.parse passes over in silence: `data.k`.
import { endOfString } from "../../kube/cache/managed-fields.ts";

/** The text is known to be valid JSON. */
export function duplicateFields(text: string): string[] {
  const found: string[] = [];
  /** One for each open brace or bracket: the keys seen, or undefined in a list. */
  const open: (Set<string> | undefined)[] = [];
  /** The way to the value that is being read. */
  const path: string[] = [];
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if (letter === quote) {
      const end = endOfString(text, at);
      const keys = open.at(-1);
      if (keys !== undefined && isKey(text, end)) {
        const key = text.slice(at + 1, end);
        path[open.length - 1] = key;
        if (keys.has(key))
          found.push(
            path
              .slice(0, open.length)
              .filter((part) => part !== "")
              .join("."),
          );
        keys.add(key);
      }
      at = end;
    } else if (letter === openBrace) {
      open.push(new Set());
    } else if (letter === openBracket) {
      open.push(undefined);
      path[open.length - 1] = "";
    } else if (letter === closeBrace || letter === closeBracket) {
      open.pop();
    }
  }
  return found;
}

const [quote, openBrace, closeBrace, openBracket, closeBracket, colon] = [0x22, 0x7b, 0x7d, 0x5b, 0x5d, 0x3a];

/** A string is a key when a colon follows. */
function isKey(text: string, end: number): boolean {
  let at = end + 1;
  while (text.charCodeAt(at) <= 0x20) at++;
  return text.charCodeAt(at) === colon;
}
