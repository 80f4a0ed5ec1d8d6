// RFC 6902 as the real server does it: `test` with a null passes where nothing is, `add` overwrites an existing key.
import { assign, clone, equal, isObject, type JsonValue, writeJson } from "../json.ts";
import { StatusError, badRequest } from "../status.ts";

/** The real server's own bound; it keeps one request from growing an object step by step without end. */
const operationsMax = 10_000;
/** A request body's size (3 MiB), as in the real server: a patch grows no object beyond what a client may send. */
const copiedBytesMax = 3 * 1024 * 1024;

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: JsonValue;
}

/** Said of operations that do not fit the object; the real server gives no more than this. */
function refused(detail: string): StatusError {
  const message = `the server rejected our request due to an error in our request: ${detail}`;
  return new StatusError(422, "Invalid", message, {});
}

export function parseJsonPatch(body: JsonValue): readonly Operation[] {
  if (!Array.isArray(body)) throw badRequest("a JSON patch is a list of operations (RFC 6902)");
  if (body.length > operationsMax) {
    const message = `The allowed maximum operations in a JSON patch is ${operationsMax}, got ${body.length}`;
    throw new StatusError(413, "RequestEntityTooLarge", message);
  }
  return body.map((item) => {
    if (!isObject(item) || typeof item["op"] !== "string" || typeof item["path"] !== "string") {
      throw badRequest("an operation of a JSON patch has `op` and `path` (RFC 6902)");
    }
    if (item["from"] !== undefined && typeof item["from"] !== "string") throw badRequest("`from` is a JSON pointer");
    return item as unknown as Operation;
  });
}

export function applyJsonPatch(target: JsonValue, operations: readonly Operation[]): JsonValue {
  const root: Root = { value: clone(target), copiedBytes: 0 };
  for (const operation of operations) perform(root, operation);
  return root.value;
}

interface Root {
  value: JsonValue;
  /** What copies have added so far: each may double the object, so that a few dozen would fill the memory. */
  copiedBytes: number;
}

function perform(root: Root, operation: Operation): void {
  const path = pointer(operation.path);
  switch (operation.op) {
    case "add":
      return write(root, path, required(operation), true);
    case "replace":
      // A key that is absent is added, as the real server does it; the RFC would refuse.
      return write(root, path, required(operation), false);
    case "remove":
      return remove(root, path);
    case "move": {
      const from = pointer(operation.from ?? "");
      const value = read(root.value, from);
      if (value === undefined) throw refused(`move: nothing at ${operation.from}`);
      remove(root, from);
      return write(root, path, value, true);
    }
    case "copy":
      return write(root, path, copied(root, pointer(operation.from ?? "")), true);
    case "test": {
      const value = read(root.value, path);
      const wanted = operation.value ?? null;
      const parent = read(root.value, path.slice(0, -1));
      // An absent key of a map is null; an absent item or parent is nothing at all.
      if (value === undefined && !isObject(parent)) throw refused(`test: nothing at ${operation.path}`);
      if (!equal(value ?? null, wanted)) throw refused(`test: ${operation.path} is not ${JSON.stringify(wanted)}`);
      return;
    }
    default:
      throw refused(`there is no operation ${JSON.stringify(operation.op)}`);
  }
}

/** An absent key of a map is null, as the real server has it; an absent item or parent is refused. */
function copied(root: Root, from: readonly string[]): JsonValue {
  let value = read(root.value, from);
  if (value === undefined && isObject(read(root.value, from.slice(0, -1)))) value = null;
  if (value === undefined) throw refused(`copy: nothing at /${from.join("/")}`);
  root.copiedBytes += Buffer.byteLength(writeJson(value));
  if (root.copiedBytes > copiedBytesMax) {
    throw refused(`the copies of a JSON patch add ${root.copiedBytes} bytes, more than ${copiedBytesMax}`);
  }
  return clone(value);
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

/** A place in a list of which `count` can be named; a negative one counts from the end, as the real server has it. */
function placeIn(count: number, key: string): number | undefined {
  if (!/^[+-]?\d{1,15}$/.test(key)) return undefined;
  const place = Number(key) < 0 ? Number(key) + count : Number(key);
  return place >= 0 && place < count ? place : undefined;
}

function index(list: JsonValue[], key: string, count: number): number {
  const place = placeIn(count, key);
  if (place === undefined) throw refused(`no index ${key} in a list of ${list.length}`);
  return place;
}

function read(value: JsonValue, path: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const key of path) {
    if (Array.isArray(at)) at = at[placeIn(at.length, key) ?? at.length];
    else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

function write(root: Root, path: readonly string[], value: JsonValue, insert: boolean): void {
  const key = path.at(-1);
  if (key === undefined) return void (root.value = value);
  const parent = read(root.value, path.slice(0, -1));
  if (Array.isArray(parent)) {
    if (key === "-" && insert) parent.push(value);
    else if (insert) parent.splice(index(parent, key, parent.length + 1), 0, value);
    else parent[index(parent, key, parent.length)] = value;
  } else if (isObject(parent)) {
    assign(parent, key, value);
  } else {
    throw refused(`nothing at /${path.slice(0, -1).join("/")} to add to`);
  }
}

function remove(root: Root, path: readonly string[]): void {
  const key = path.at(-1);
  if (key === undefined) throw refused("the whole object cannot be removed by a patch");
  const parent = read(root.value, path.slice(0, -1));
  if (Array.isArray(parent)) parent.splice(index(parent, key, parent.length), 1);
  else if (isObject(parent) && Object.hasOwn(parent, key)) delete parent[key];
  else throw refused(`remove: nothing at /${path.join("/")}`);
}
