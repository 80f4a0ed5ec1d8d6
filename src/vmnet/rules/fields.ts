// Fields of objects whose definition may be another's: whatever stands there, reading it never throws. An empty text
// counts as none.
import { type Address, parseAddress, type V4Address, type V6Address } from "../../net/address.ts";
import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import type { Issues } from "./issue.ts";

export type Fields = Readonly<Record<string, unknown>>;

const longestQuote = 60;

/** As it was written, and not longer than a line. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length > longestQuote ? `${text.slice(0, longestQuote)}...` : text;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Absent, null and `{}` are the same. */
export function fieldsOf(value: unknown, field: string, issues: Issues): Fields {
  if (value === undefined || value === null) return {};
  if (isFields(value)) return value;
  issues.error("bad-type", field, `it is ${show(value)}; write keys and values below it.`);
  return {};
}

export function textOf(value: unknown, field: string, issues: Issues): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  issues.error("bad-type", field, `it is ${show(value)}; write a text.`);
  return undefined;
}

/** Absent: no. */
export function flagOf(value: unknown, field: string, issues: Issues): boolean {
  if (value === undefined || value === null || typeof value === "boolean") return value === true;
  issues.error("bad-type", field, `it is ${show(value)}; write true or false.`);
  return false;
}

export function listOf(value: unknown, field: string, issues: Issues): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  issues.error("bad-type", field, `it is ${show(value)}; write a list.`);
  return [];
}

/** What the parser says where it refuses. */
export function parsed<T>(read: () => T): { readonly value: T } | { readonly why: string } {
  return attempt(
    NetError,
    () => ({ value: read() }),
    (error) => ({ why: error.message }),
  );
}

export type AddressOf<F extends 4 | 6> = F extends 4 ? V4Address : V6Address;

/** Undefined: it is no address of that family; `otherwise` gets the sentence. */
export function addressOf<F extends 4 | 6>(
  text: string,
  family: F,
  otherwise: (why: string) => void,
): AddressOf<F> | undefined {
  const result = parsed((): Address => parseAddress(text));
  if ("why" in result) {
    otherwise(result.why);
    return undefined;
  }
  if (result.value.family === family) return result.value as AddressOf<F>;
  otherwise(`${text} is an IPv${result.value.family} address: write an IPv${family} address.`);
  return undefined;
}
