// RFC 6902, with the real server's habits: `test` with a null value passes where nothing is, `add` to an existing key overwrites it.
import type { JsonValue } from "../json.ts";
import { clone, equal, isObject } from "../json.ts";
import { ApiError, badRequest } from "../status.ts";

/** The real server's own bound; it keeps one request from growing an object step by step without end. */
const operationsMax = 10_000;

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: JsonValue;
}

/** Said of operations that do not fit the object; the real server gives no more than this. */
function refused(detail: string): ApiError {
  return new ApiError(422, "Invalid", `the server rejected our request due to an error in our request: ${detail}`, {});
}

export function parseJsonPatch(body: JsonValue): readonly Operation[] {
  if (!Array.isArray(body)) throw badRequest("a JSON patch is a list of operations (RFC 6902)");
  if (body.length > operationsMax) {
    throw new ApiError(
      413,
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${operationsMax}, got ${body.length}`,
    );
  }
  return body.map((item) => {
    if (!isObject(item) || typeof item["op"] !== "string" || typeof item["path"] !== "string") {
      throw badRequest("an operation of a JSON patch has `op` and `path` (RFC 6902)");
    }
    return item as unknown as Operation;
  });
}

export function applyJsonPatch(target: JsonValue, operations: readonly Operation[]): JsonValue {
  const root = { value: clone(target) };
  for (const operation of operations) perform(root, operation);
  return root.value;
}

function perform(root: { value: JsonValue }, operation: Operation): void {
  const path = pointer(operation.path);
  switch (operation.op) {
    case "add":
      return write(root, path, required(operation), true);
    case "replace":
      // A key that is absent is added, as the real server does it; the RFC would refuse.
      return write(root, path, required(operation), false);
    case "remove":
      return remove(root, path);
    case "move":
    case "copy": {
      const from = pointer(operation.from ?? "");
      const value = read(root.value, from);
      if (value === undefined) throw refused(`${operation.op}: nothing at ${operation.from}`);
      if (operation.op === "move") remove(root, from);
      return write(root, path, clone(value), true);
    }
    case "test": {
      const value = read(root.value, path);
      const wanted = operation.value ?? null;
      if (!equal(value ?? null, wanted)) throw refused(`test: ${operation.path} is not ${JSON.stringify(wanted)}`);
      return;
    }
    default:
      throw refused(`there is no operation ${JSON.stringify(operation.op)}`);
  }
}

function required(operation: Operation): JsonValue {
  if (operation.value === undefined) throw badRequest(`${operation.op} at ${operation.path} needs a value`);
  return clone(operation.value);
}

function pointer(text: string): string[] {
  if (text === "") return [];
  if (!text.startsWith("/")) throw badRequest(`${JSON.stringify(text)} is not a JSON pointer: it starts with "/"`);
  return text
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function index(list: JsonValue[], key: string, limit: number): number {
  if (!/^(0|[1-9]\d*)$/.test(key) || Number(key) > limit) throw refused(`no index ${key} in a list of ${list.length}`);
  return Number(key);
}

function read(value: JsonValue, path: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const key of path) {
    if (Array.isArray(at)) at = /^\d+$/.test(key) ? at[Number(key)] : undefined;
    else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

function write(root: { value: JsonValue }, path: readonly string[], value: JsonValue, insert: boolean): void {
  const key = path.at(-1);
  if (key === undefined) {
    root.value = value;
    return;
  }
  const parent = read(root.value, path.slice(0, -1));
  if (Array.isArray(parent)) {
    if (key === "-") parent.push(value);
    else if (insert) parent.splice(index(parent, key, parent.length), 0, value);
    else parent[index(parent, key, parent.length - 1)] = value;
  } else if (isObject(parent)) {
    put(parent, key, value);
  } else {
    throw refused(`nothing at /${path.slice(0, -1).join("/")} to add to`);
  }
}

/** Defined rather than assigned, so that a key called __proto__ is a key like any other. */
function put(parent: object, key: string, value: JsonValue): void {
  Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true });
}

function remove(root: { value: JsonValue }, path: readonly string[]): void {
  const key = path.at(-1);
  if (key === undefined) throw refused("the whole object cannot be removed by a patch");
  const parent = read(root.value, path.slice(0, -1));
  if (Array.isArray(parent)) parent.splice(index(parent, key, parent.length - 1), 1);
  else if (isObject(parent) && Object.hasOwn(parent, key)) delete parent[key];
  else throw refused(`remove: nothing at /${path.join("/")}`);
}
