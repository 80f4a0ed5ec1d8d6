// The API server's verbs. Every call takes a signal and has a deadline; every failure is an ApiError, by its code.
//
// Not promised: retries. Only a read whose connection broke is asked again, once; 429 and 503 carry `retryAfterMs`.
import { ItemSplitter } from "./cache/item-splitter.ts";
import { withoutManagedFields } from "./cache/managed-fields.ts";
import { type WatchEvent, watchStream } from "./cache/watch.ts";
import { type Caller, perform, readJson } from "./call.ts";
import { realClock, sleep } from "./clock.ts";
import { ApiError, isApiError, retryAfterOf } from "./errors.ts";
import { keyOf, type KubeObject, type ListMeta, type ObjectName } from "./meta.ts";
import { type Patch, patchTypes } from "./patch.ts";
import { apiVersionOf, type ObjectPlace, pathOf, type Query, type Resource, withQuery } from "./resource.ts";
import { chunks, readText } from "./transport/body.ts";
import { unless } from "./unless.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  readonly subresource?: string;
}

export interface DeleteOptions extends CallOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  /** The delete is refused with `conflict` if the object is no longer this one. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export interface Scope {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends CallOptions, Scope {
  /** Objects per page; 0: all in one answer. */
  readonly pageSize?: number;
  readonly dropManagedFields?: boolean;
  readonly resourceVersion?: string;
}

export interface WatchOptions extends CallOptions, Scope {
  readonly resourceVersion: string;
  readonly timeoutSeconds?: number;
  readonly idleMs?: number;
  readonly onOpen?: () => void;
}

export interface ClientOptions extends Pick<Caller, "transport">, Partial<Pick<Caller, "clock" | "observe">> {
  /** Deadline of a call that names none. */
  readonly timeoutMs?: number;
  readonly userAgent?: string;
  readonly random?: () => number;
}

const methods = { get: "GET", create: "POST", update: "PUT", patch: "PATCH", delete: "DELETE" } as const;
/** The server's own limit is 60 s, 34 s for writes that wait on etcd; 30 s is what client-go's tools use. */
const defaultTimeoutMs = 30_000;
/** A page of 1,000 objects of 2 KB is 2 MB: one round trip for small kinds, a fraction of a second of the server's. */
const defaultPageSize = 1000;
/** 100,000 pages of 1,000 are 100 million objects, more than etcd holds: a server whose list never ends is at fault. */
const maxPages = 100_000;
/** client-go's ten tries would be ten minutes of the longest pause; a list that is refused so often is begun anew. */
const pageTriesMax = 5;
/** Bookmarks come about once a minute; three missed ones are a dead peer. Reopening a quiet watch costs one request. */
const defaultIdleMs = 180_000;

export class KubeClient {
  readonly #caller: Caller;
  readonly #timeoutMs: number;
  readonly #random: () => number;

  constructor(options: ClientOptions) {
    this.#caller = {
      transport: options.transport,
      clock: options.clock ?? realClock,
      headers: { accept: "application/json", "user-agent": options.userAgent ?? "holdfast" },
      observe: options.observe,
    };
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.#random = options.random ?? Math.random;
  }

  async get<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectName & { readonly subresource?: string },
    options: CallOptions & { readonly resourceVersion?: string } = {},
  ): Promise<T> {
    const path = withQuery(pathOf(resource, at), { resourceVersion: options.resourceVersion });
    return (await this.#json("get", resource, at, path, options)) as T;
  }

  /** Undefined where the server has none of that name, or no such kind. */
  lookUp<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectName,
    options: CallOptions & { readonly resourceVersion?: string } = {},
  ): Promise<T | undefined> {
    return unless(["not-found"], this.get(resource, at, options));
  }

  async create<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions & { readonly name?: string } = {},
  ): Promise<T> {
    const { namespace, name, generateName = "" } = object.metadata;
    requireNamespace(resource, namespace, "create");
    const path = pathOf(resource, { namespace, name: options.name, subresource: options.subresource });
    const at = { namespace, name: name ?? `${generateName}*` };
    const body = typed(resource, { ...object });
    return (await this.#json("create", resource, at, withQuery(path, writeQuery(options)), options, body)) as T;
  }

  /** Replaces the object; `conflict` if it carries a resourceVersion that is no longer current. */
  async update<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const at = { namespace: object.metadata.namespace, name: object.metadata.name ?? "" };
    const path = withQuery(pathOf(resource, { ...at, subresource: options.subresource }), writeQuery(options));
    return (await this.#json("update", resource, at, path, options, typed(resource, { ...object }))) as T;
  }

  async patch<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectName,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const query = { ...writeQuery(options), force: patch.type === "apply" ? patch.force : undefined };
    const path = withQuery(pathOf(resource, { ...at, subresource: options.subresource }), query);
    // JSON is YAML, so the apply patch needs no YAML writer.
    const body = patch.type === "json" ? patch.operations : patch.body;
    return (await this.#json("patch", resource, at, path, options, body, patchTypes[patch.type])) as T;
  }

  /** The object as the server left it (finalizers, grace period), or undefined where it answered that it is gone. */
  async delete<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectName,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const answer = await this.#json("delete", resource, at, pathOf(resource, at), options, deleteBody(options));
    return (answer as KubeObject).kind === "Status" ? undefined : (answer as T);
  }

  async deleteCollection(resource: Resource, scope: Scope, options: DeleteOptions = {}): Promise<void> {
    const { namespace } = scope;
    requireNamespace(resource, namespace, "delete");
    const path = withQuery(pathOf(resource, { namespace }), selectors(scope));
    await this.#json("delete", resource, { namespace, name: "*" }, path, options, deleteBody(options));
  }

  async list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions = {},
  ): Promise<{ readonly items: T[]; readonly metadata: ListMeta }> {
    let items: T[] = [];
    const metadata = await this.listEach(resource, options, {
      item: (object) => void items.push(object),
      restart: () => void (items = []),
    });
    return { items, metadata };
  }

  /** Undefined where the server has no such kind. */
  async listServed<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<T[] | undefined> {
    return (await unless(["not-found"], this.list(resource, options)))?.items;
  }

  /** A kind that the server does not have has no objects. */
  async listAll<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<T[]> {
    return (await this.listServed(resource, options)) ?? [];
  }

  /**
   * Hands over each object as its bytes arrive, page after page. If the server has forgotten the snapshot between two
   * pages, `restart` is called and everything comes again, in one answer: what was handed over before counts no more.
   */
  async listEach<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    sink: { item(object: T): void; restart(): void },
  ): Promise<ListMeta> {
    let query: Query = {
      ...selectors(options),
      limit: options.pageSize === 0 ? undefined : (options.pageSize ?? defaultPageSize),
      resourceVersion: options.resourceVersion,
    };
    for (let page = 0; page < maxPages; page++) {
      try {
        const metadata = await this.#patiently(query, options, () => this.#page(resource, options, query, sink));
        if (metadata.continue === undefined || metadata.continue === "") return metadata;
        query = { ...selectors(options), limit: query["limit"], continue: metadata.continue };
      } catch (error) {
        if (!isApiError(error, "gone") || query["continue"] === undefined) throw error;
        sink.restart();
        query = selectors(options);
      }
    }
    throw new ApiError("malformed", `list ${resource.kind}: the list did not end after ${maxPages} pages.`);
  }

  /** Opens when first iterated. The server ends it after `timeoutSeconds`; the caller resumes from the last version. */
  watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    const path = withQuery(pathOf(resource, { namespace: options.namespace }), {
      watch: true,
      allowWatchBookmarks: true,
      ...selectors(options),
      resourceVersion: options.resourceVersion,
      timeoutSeconds: options.timeoutSeconds,
    });
    const call = { what: `watch ${resource.kind}`, method: "GET", path, signal: options.signal };
    const { onOpen, idleMs = defaultIdleMs, timeoutMs: openMs = this.#timeoutMs } = options;
    return watchStream<T>(this.#caller, call, { openMs, idleMs, onOpen });
  }

  /** The text of what is not a resource: /readyz, /version, discovery. */
  async raw(path: string, options: CallOptions = {}): Promise<string> {
    const call = { what: `get ${path}`, method: "GET", path, ...this.#limits(options) };
    return perform(this.#caller, call, ({ body }, signal) => readText(body, signal));
  }

  /** A server that asks for a pause in the middle of a list gets it, and is not asked for the earlier pages again. */
  async #patiently(query: Query, { signal }: CallOptions, ask: () => Promise<ListMeta>): Promise<ListMeta> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        const askedMs = retryAfterOf(error);
        const isPassing = isApiError(error, "too-many-requests", "unavailable") && askedMs > 0;
        if (!isPassing || query["continue"] === undefined || tries === pageTriesMax) throw error;
        const waitMs = askedMs * (1 + this.#random());
        if (!(await sleep(this.#caller.clock, waitMs, signal ?? new AbortController().signal))) throw error;
      }
    }
  }

  async #page<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    query: Query,
    sink: { item(object: T): void },
  ): Promise<ListMeta> {
    const path = withQuery(pathOf(resource, { namespace: options.namespace }), query);
    const call = { what: `list ${resource.kind}`, method: "GET", path, ...this.#limits(options) };
    return perform(this.#caller, call, async (response, signal) => {
      const cut = options.dropManagedFields === true ? withoutManagedFields : (text: string) => text;
      const splitter = new ItemSplitter((text) => sink.item(typed(resource, JSON.parse(cut(text)) as T)));
      for await (const chunk of chunks(response.body, signal)) splitter.push(chunk);
      const envelope = splitter.end() as { metadata?: ListMeta };
      return envelope.metadata ?? {};
    });
  }

  async #json(
    verb: keyof typeof methods,
    resource: Resource,
    at: ObjectPlace,
    path: string,
    options: CallOptions,
    body?: object,
    contentType = "application/json",
  ): Promise<unknown> {
    const what = `${verb} ${resource.kind} ${keyOf({ metadata: at })}`;
    const content = body && { headers: { "content-type": contentType }, body: JSON.stringify(body) };
    const call = { what, method: methods[verb], path, ...content, ...this.#limits(options) };
    return perform(this.#caller, call, readJson);
  }

  #limits(options: CallOptions) {
    return { signal: options.signal, timeoutMs: options.timeoutMs ?? this.#timeoutMs };
  }
}

/** Items of a list often come without their type; it is filled in, with strings that all share. So it is in a write. */
function typed<T extends KubeObject>(resource: Resource, object: T): T {
  object.apiVersion = apiVersionOf(resource);
  object.kind = resource.kind;
  return object;
}

function selectors({ labelSelector, fieldSelector }: Scope): Query {
  return { labelSelector, fieldSelector };
}

function writeQuery({ dryRun, fieldManager }: WriteOptions): Query {
  return { dryRun: dryRun === true ? "All" : undefined, fieldManager };
}

function deleteBody({ gracePeriodSeconds, propagationPolicy, preconditions }: DeleteOptions): object {
  return { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds, propagationPolicy, preconditions };
}

function requireNamespace(resource: Resource, namespace: string | undefined, verb: string): void {
  if (resource.namespaced && namespace === undefined) {
    throw new TypeError(`Cannot ${verb} a ${resource.kind} without a namespace: the kind is namespaced.`);
  }
}
