// An API server in memory, just large enough for the runtime's tests: create, read, update, patch, delete, list by
// pages, watch. src/kube is tested with it, and so without the embedded server (src/apiserver).
import type { AnyObject } from "../meta.ts";
import type { ApiRequest, ApiResponse, Transport } from "../transport/transport.ts";
import { Feed, json, status } from "./fake-transport.ts";

interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly path: string;
  readonly object: AnyObject;
}

interface Watcher {
  readonly collection: string;
  readonly feed: Feed;
  readonly from: number;
}

/** A fault is asked before each request; what it returns or throws is the answer. */
export type Fault = (request: ApiRequest) => ApiResponse | undefined | Promise<ApiResponse | undefined>;

export class FakeApi {
  /** Key: the object's path. */
  readonly #objects = new Map<string, AnyObject>();
  readonly #changes: Change[] = [];
  readonly #watchers = new Set<Watcher>();
  #version = 100;
  #oldest = 0;
  readonly requests: ApiRequest[] = [];
  fault: Fault = () => undefined;
  /** Asked after a request was carried out: throwing here loses the answer of a write that happened. */
  afterwards: (request: ApiRequest) => void = () => {};

  readonly transport: Transport = async (request) => {
    this.requests.push(request);
    const fault = await this.fault(request);
    if (fault !== undefined) return fault;
    const answer = this.#answer(request);
    this.afterwards(request);
    return answer;
  };

  get version(): number {
    return this.#version;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  count(method: string, part = ""): number {
    return this.requests.filter((request) => request.method === method && request.path.includes(part)).length;
  }

  /** Writes behind the client's back. */
  put(path: string, object: AnyObject): AnyObject {
    const slash = path.lastIndexOf("/");
    const before = this.#objects.get(path);
    const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
    const metadata = {
      ...object.metadata,
      name: path.slice(slash + 1),
      ...(namespace === undefined ? {} : { namespace }),
      uid: before?.metadata.uid ?? `uid-${this.#version + 1}`,
      resourceVersion: String(++this.#version),
    };
    const stored = { ...object, metadata };
    this.#objects.set(path, stored);
    this.#publish(before === undefined ? "ADDED" : "MODIFIED", path, stored);
    return stored;
  }

  remove(path: string): void {
    const object = this.#objects.get(path);
    if (object === undefined) return;
    this.#objects.delete(path);
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    this.#publish("DELETED", path, last);
  }

  /** Forgets the history: a watch from an older version is answered with 410. */
  compact(): void {
    this.#oldest = this.#version;
  }

  /** Everything as it is now; the returned function restores it, and ends all watches. */
  snapshot(): () => void {
    const [objects, changes, version] = [[...this.#objects], this.#changes.length, this.#version];
    return () => {
      this.#objects.clear();
      for (const [path, object] of objects) this.#objects.set(path, object);
      this.#changes.length = changes;
      this.#version = version;
      this.cutWatches(new Error("reset"));
    };
  }

  bookmark(): void {
    for (const { feed, from } of this.#watchers) {
      if (this.#version < from) continue;
      feed.push(line("BOOKMARK", { metadata: { resourceVersion: String(this.#version) } }));
    }
  }

  /** Ends all watches, as a server that stops does. */
  cutWatches(error?: unknown): void {
    for (const { feed } of this.#watchers) {
      if (error === undefined) feed.end();
      else feed.fail(error);
    }
    this.#watchers.clear();
  }

  #answer(request: ApiRequest): ApiResponse {
    const { pathname, searchParams } = new URL(request.path, "http://fake");
    const path = pathname.replace(/\/status$/, "");
    switch (request.method) {
      case "GET":
        if (searchParams.get("watch") === "true") return this.#watch(path, searchParams, request.signal);
        return this.#objects.has(path) || !isCollection(path) ? this.#get(path) : this.#list(path, searchParams);
      case "POST":
        return this.#create(path, parse(request));
      case "PUT":
        return this.#update(path, parse(request));
      case "PATCH":
        return this.#patch(path, request);
      case "DELETE":
        return this.#delete(path, parse(request));
      default:
        return status(405, "MethodNotAllowed");
    }
  }

  #get(path: string): ApiResponse {
    const object = this.#objects.get(path);
    return object === undefined ? status(404, "NotFound", `${path} not found`) : json(200, object);
  }

  #list(collection: string, query: URLSearchParams): ApiResponse {
    const all = [...this.#objects].filter(([path]) => belongs(path, collection)).sort(([a], [b]) => (a < b ? -1 : 1));
    const [version = 0, from = 0] = (query.get("continue") ?? `${this.#version}:0`).split(":").map(Number);
    if (version < this.#oldest) return status(410, "Expired", "the continue token is too old");
    const limit = Number(query.get("limit") ?? Infinity);
    const page = all.slice(from, from + limit).map(([, object]) => object);
    const more = from + limit < all.length ? { continue: `${version}:${from + limit}` } : {};
    return json(200, { kind: "List", metadata: { resourceVersion: String(version), ...more }, items: page });
  }

  #watch(collection: string, query: URLSearchParams, signal?: AbortSignal): ApiResponse {
    const from = Number(query.get("resourceVersion"));
    const feed = new Feed(signal);
    const watcher = { collection, feed, from };
    if (from < this.#oldest) feed.push(line("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "old" }));
    for (const change of this.#changes) {
      if (change.version > from && belongs(change.path, collection)) feed.push(line(change.type, change.object));
    }
    this.#watchers.add(watcher);
    signal?.addEventListener("abort", () => this.#watchers.delete(watcher));
    return { status: 200, headers: {}, body: feed };
  }

  #create(collection: string, object: AnyObject): ApiResponse {
    const name = object.metadata.name ?? `${object.metadata.generateName}${this.#version}`;
    const path = `${collection}/${name}`;
    if (this.#objects.has(path)) return status(409, "AlreadyExists", `${path} already exists`);
    return json(201, this.put(path, object));
  }

  #update(path: string, object: AnyObject): ApiResponse {
    const before = this.#objects.get(path);
    if (before === undefined) return status(404, "NotFound", `${path} not found`);
    const { resourceVersion } = object.metadata;
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion) {
      return status(409, "Conflict", "the object has been modified");
    }
    return json(200, this.put(path, object));
  }

  #patch(path: string, request: ApiRequest): ApiResponse {
    const before = this.#objects.get(path);
    if (before === undefined) return status(404, "NotFound", `${path} not found`);
    if (request.headers["content-type"] !== "application/json-patch+json") {
      return this.#update(path, merge(before, parse(request)));
    }
    const after = structuredClone(before);
    for (const operation of parse(request) as unknown as Operation[]) {
      if (!applied(after, operation)) return status(422, "Invalid", `${operation.op} ${operation.path} failed`);
    }
    return this.#update(path, after);
  }

  #delete(path: string, options: AnyObject): ApiResponse {
    const object = this.#objects.get(path);
    if (object === undefined) return status(404, "NotFound", `${path} not found`);
    const uid = (options["preconditions"] as { uid?: string } | undefined)?.uid;
    if (uid !== undefined && uid !== object.metadata.uid) return status(409, "Conflict", "the uid differs");
    this.remove(path);
    return json(200, { kind: "Status", status: "Success" });
  }

  #publish(type: Change["type"], path: string, object: AnyObject): void {
    this.#changes.push({ version: this.#version, type, path, object });
    for (const { collection, feed, from } of this.#watchers) {
      // As the API server of Kubernetes: one from the future hears nothing until it has come.
      if (this.#version > from && belongs(path, collection)) feed.push(line(type, object));
    }
  }
}

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** One operation of a JSON patch, as far as the runtime sends them; false if it cannot be applied. */
function applied(object: AnyObject, { op, path, value }: Operation): boolean {
  const steps = path.split("/").slice(1);
  const last = steps.pop()!;
  let parent: unknown = object;
  for (const step of steps) parent = (parent as Record<string, unknown> | undefined)?.[step];
  if (typeof parent !== "object" || parent === null) return false;
  const place = parent as Record<string, unknown>;
  if (op === "test") return JSON.stringify(place[last]) === JSON.stringify(value);
  if (op === "remove" && Array.isArray(parent)) return parent.splice(Number(last), 1).length === 1;
  if (op === "remove") return delete place[last];
  if (Array.isArray(parent) && last === "-") parent.push(value);
  else place[last] = value;
  return true;
}

function parse(request: ApiRequest): AnyObject {
  return JSON.parse(String(request.body ?? "{}")) as AnyObject;
}

function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** /apis/g/v/plural, or /apis/g/v/namespaces/n/plural; the core group is one step shorter. */
function isCollection(path: string): boolean {
  const rest = path.split("/").slice(path.startsWith("/api/") ? 3 : 4);
  return rest.length === 1 || (rest.length === 3 && rest[0] === "namespaces");
}

/** A collection without a namespace holds the objects of all namespaces. */
function belongs(path: string, collection: string): boolean {
  const plural = collection.slice(collection.lastIndexOf("/") + 1);
  const root = collection.slice(0, collection.lastIndexOf("/"));
  const steps = path.split("/");
  return steps.at(-2) === plural && path.startsWith(`${root}/`);
}

function merge<T>(before: T, patch: unknown): T {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch as T;
  const merged: Record<string, unknown> = { ...(before as Record<string, unknown>) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  }
  return merged as T;
}
