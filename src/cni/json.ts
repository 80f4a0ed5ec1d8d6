// JSON text from outside, within a limit, and the few questions that are asked of its values.
import { CniError, errorCodes } from "./error.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** An etcd object is at most 1.5 MiB, so no network attachment definition carries a larger configuration than this. */
export const maxConfigBytes = 1024 * 1024;

/** A list of plugins with the deepest key, prevResult's addresses, needs seven; `args` of others may have more. */
const maxDepth = 64;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Empty where it is none. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** What stands between commas, without what is blank. */
export function commaList(value: unknown): string[] {
  return textOf(value)
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

/** `subject` names the text in the error (code 6), as the start of a sentence; of a secret text nothing is repeated. */
export function parseJsonObject(text: string, subject: string, isSecret = false): JsonObject {
  // A UTF-16 unit is at most three bytes of UTF-8, so only texts in between need to be counted.
  if (text.length > maxConfigBytes || (text.length * 3 > maxConfigBytes && Buffer.byteLength(text) > maxConfigBytes)) {
    const message = `${subject} is larger than ${maxConfigBytes} bytes: no network needs that much; shorten it.`;
    throw new CniError(errorCodes.badEncoding, message);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const reason = isSecret ? "" : `: ${cause instanceof Error ? cause.message : String(cause)}`;
    const message = `${subject} is not JSON${reason}. Write one JSON object.`;
    throw new CniError(errorCodes.badEncoding, message, isSecret ? {} : { cause });
  }
  if (isTooDeep(value, maxDepth)) {
    throw new CniError(errorCodes.badEncoding, `${subject} is nested deeper than ${maxDepth} levels: flatten it.`);
  }
  if (isObject(value)) return value;
  throw new CniError(errorCodes.badEncoding, `${subject} is ${kindOf(value)}: write one JSON object.`);
}

function isTooDeep(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((inner) => isTooDeep(inner, left - 1));
}

export function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return `a ${typeof value}`;
}

/** As it was written, and not longer than a line. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length <= 120 ? text : `${text.slice(0, 117)}...`;
}

/** What Go leaves a field at that the text does not set: the values that the flat file may fill. */
export function isZero(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.values(value).every(isZero);
}

/** Freezes lists and plain objects all the way down; values of classes (addresses) are immutable by themselves. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freezeDeep(inner);
  return Object.freeze(value);
}
