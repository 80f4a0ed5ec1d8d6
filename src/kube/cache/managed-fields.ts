// The text of an object without its metadata.managedFields: they are about half of most objects, and no reconciler
// reads them. Cut before the parse, they never become objects.
import { isClosing, isOpening, signs } from "./item-splitter.ts";

/** For `metadata.managedFields` of a write: the server forgets who wrote what, and tracks nobody who does not apply. */
export const untracked: unknown[] = [{}];

const key = '"managedFields":[';
const { quote, backslash, comma, openBrace } = signs;

/** As it was where there are none, or where it is not plain to see whose they are. */
export function withoutManagedFields(text: string): string {
  const start = text.indexOf(key);
  if (start < 0 || !isInMetadata(text, start)) return text;
  const end = closingOf(text, start + key.length);
  if (end === undefined) return text;
  const hasNext = text.charCodeAt(end + 1) === comma;
  const from = !hasNext && text.charCodeAt(start - 1) === comma ? start - 1 : start;
  return text.slice(0, from) + text.slice(hasNext ? end + 2 : end + 1);
}

/** The place is inside the object that the outermost one has as `metadata`, and no deeper. */
function isInMetadata(text: string, place: number): boolean {
  let depth = 0;
  let isMetadata = false;
  for (let at = 0; at < place; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (isOpening(code)) {
      if (depth === 1) isMetadata = code === openBrace && text.endsWith('"metadata":', at);
      depth++;
    } else if (isClosing(code)) depth--;
  }
  return depth === 2 && isMetadata;
}

/** Of the array that is open; undefined: the text ends before. */
function closingOf(text: string, start: number): number | undefined {
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (isOpening(code)) depth++;
    else if (isClosing(code) && --depth === 0) return at;
  }
  return undefined;
}

/** The index of the quote that closes the string which begins there; the text's end where none does. */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}
