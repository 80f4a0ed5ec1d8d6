// Holds a JSON object against the table of keys: types, unknown keys, keys in another case. It does not judge values.
//
// Go's decoder takes a key in any case, and so does this: the result has the names of the table only.
import { isObject, isZero, type JsonObject, kindOf } from "../json.ts";
import type { Findings } from "./findings.ts";
import type { Key, Keys, KeyType } from "./keys.ts";

const wanted: Readonly<Record<KeyType, string>> = {
  string: "a string",
  boolean: "true or false, without quotes",
  integer: "a whole number, without quotes",
  strings: "a list of strings",
  object: "an object",
  objects: "a list of objects",
};

const fits: Readonly<Record<KeyType, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: Number.isSafeInteger,
  strings: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
  object: isObject,
  objects: (value) => Array.isArray(value) && value.every(isObject),
};

/** The object by the table's names, without null, unknown or wrongly typed values; `findings` has what was wrong. */
export function shapeOf(object: JsonObject, keys: Keys, before: string, findings: Findings): JsonObject {
  const result: Record<string, unknown> = {};
  for (const [written, value] of Object.entries(object)) {
    const path = `${before}${written}`;
    const name = nameOf(written, keys);
    if (name === undefined) {
      if (findings.conceals(path)) continue;
      const reason = `there is no such key${findings.full ? "" : suggestion(written, keys)}; remove it`;
      findings.dislike(path, value, reason, "it is ignored");
      continue;
    }
    if (Object.hasOwn(result, name)) {
      const reason = `${before}${name} is given twice, in different case; keep one`;
      findings.dislike(path, value, reason, "the last one counts");
    }
    if (value === null) continue;
    const shaped = valueOf(value, keys[name]!, path, findings);
    if (shaped !== undefined) result[name] = shaped;
  }
  return result;
}

function valueOf(value: unknown, key: Key, path: string, findings: Findings): unknown {
  if (!fits[key.type](value)) {
    const reason = `it is ${kindOf(value)}; write ${wanted[key.type]}`;
    findings.refuse(path, path.endsWith("password") ? "(hidden)" : value, reason);
    return undefined;
  }
  if (key.unused !== undefined && !isZero(value)) findings.note(path, `has no effect: ${key.unused}`);
  if (key.inside === undefined) return value;
  if (isObject(value)) return shapeOf(value, key.inside, `${path}.`, findings);
  const inside = key.inside;
  return (value as readonly JsonObject[]).map((item, index) => shapeOf(item, inside, `${path}[${index}].`, findings));
}

function nameOf(written: string, keys: Keys): string | undefined {
  if (Object.hasOwn(keys, written)) return written;
  const folded = written.toLowerCase();
  return Object.keys(keys).find((name) => name.toLowerCase() === folded);
}

/** The known key that differs least, if it is near: what was probably meant. */
function suggestion(written: string, keys: Keys): string {
  const near = Object.keys(keys)
    .map((name) => ({ name, steps: editDistance(written.slice(0, 64), name) }))
    .filter(({ steps }) => steps <= 2)
    .sort((a, b) => a.steps - b.steps)[0];
  return near === undefined ? "" : `, ${near.name} was probably meant`;
}

/** Levenshtein's distance, row by row. Both texts are short: a key, and its spelling, cut at 64 characters. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
