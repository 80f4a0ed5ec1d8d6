// RFC 7386: an object is merged key by key, null deletes, everything else replaces.
import { assign, isObject, type JsonObject, type JsonValue, own } from "../json.ts";

export function applyMergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) delete result[key];
    else assign(result, key, applyMergePatch(own(result, key), value));
  }
  return result;
}
