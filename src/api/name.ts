// What the API server allows as the name of an object: a DNS-1123 subdomain of at most 253 characters.
import { ObjectError } from "./error.ts";
import { hashLabel } from "./holds/owner-record.ts";

export const longestName = 253;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export function isLegalName(name: string): boolean {
  return name.length <= longestName && subdomain.test(name);
}

/** The name itself, or a refusal that says of what it was made. `source` ends the sentence "... made of". */
export function legalName(kind: string, name: string, source: string): string {
  if (isLegalName(name)) return name;
  const quoted = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}...` : name);
  const fault =
    name.length > longestName
      ? `has ${name.length} characters, and ${longestName} are allowed: shorten what it is made of`
      : "is not a DNS-1123 subdomain: use lower case letters, digits, '-' and '.', and begin and end with a letter or digit";
  throw new ObjectError("bad-name", `The ${kind} name ${quoted}, made of ${source}, ${fault}.`);
}

/** 16 of the hash, "-x" before them. */
const hashRoom = 18;

/** The text, if it is a legal name of at most so many characters; else made fit, with a hash: no two sources meet. */
export function hashedName(text: string, source: string, longest = longestName): string {
  if (text.length <= longest && isLegalName(text)) return text;
  return fitName(text, source, longest);
}

/** Always with the hash. */
export function fitName(text: string, source: string, longest = longestName): string {
  const fit = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, "-")
    .replaceAll(/[-.]*\.[-.]*/g, ".")
    .slice(0, longest - hashRoom)
    .replaceAll(/^[-.]+|[-.]+$/g, "");
  return `${fit === "" ? "x" : fit}-x${hashLabel(source)}`;
}
