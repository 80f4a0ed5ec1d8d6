// The API server's verbs. Every call takes a signal and has a deadline; every failure is an ApiError (errors.ts says what each code promises).
//
// Not promised: retries. Only a read whose connection broke is asked again, once; 429 and 503 carry `retryAfterMs` for the caller to honour.
import { ItemSplitter } from "./cache/item-splitter.ts";
import { withoutManagedFields } from "./cache/managed-fields.ts";
import { type WatchEvent, watchStream } from "./cache/watch.ts";
import { type CallReport, type Caller, eachChunk, perform, readJson } from "./call.ts";
import { type Clock, realClock, sleep } from "./clock.ts";
import { ApiError, isApiError, retryAfterOf } from "./errors.ts";
import { keyOf, type KubeObject, type ListMeta, type ObjectName } from "./meta.ts";
import { type Patch, patchBody, patchTypes } from "./patch.ts";
import { apiVersionOf, pathOf, type Query, type Resource, withQuery } from "./resource.ts";
import { readText } from "./transport/body.ts";
import type { Transport } from "./transport/transport.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict";
  readonly subresource?: string;
}

export interface DeleteOptions extends CallOptions {
  readonly dryRun?: boolean;
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
  /** Objects come without their managedFields. */
  readonly dropManagedFields?: boolean;
  readonly resourceVersion?: string;
}

export interface WatchOptions extends CallOptions, Scope {
  readonly resourceVersion: string;
  readonly timeoutSeconds?: number;
  /** Silence after which the watch fails; see cache/watch.ts. */
  readonly idleMs?: number;
  readonly onOpen?: () => void;
}

export interface ClientOptions {
  readonly transport: Transport;
  readonly clock?: Clock;
  /** Deadline of a call that names none. */
  readonly timeoutMs?: number;
  readonly userAgent?: string;
  readonly random?: () => number;
  readonly observe?: (report: CallReport) => void;
  /** Told what the server and its webhooks warn of: deprecated versions, questionable values. */
  readonly onWarning?: (warning: string, what: string) => void;
}

/** The server's own limit for a request is 60 s, 34 s for writes that wait on etcd; 30 s is what client-go's tools use. */
const defaultTimeoutMs = 30_000;
/** A page of 1,000 objects of 2 KB is 2 MB: one round trip for small kinds, and a fraction of a second of the server's time. */
const defaultPageSize = 1000;
/** 100,000 pages of 1,000 are 100 million objects: more than etcd holds, so a server that never ends the list is at fault. */
const maxPages = 100_000;
/** client-go's ten tries of any call would be ten minutes of the longest pause; a list that is refused so often is begun anew, later. */
const pageTriesMax = 5;
/** Bookmarks come about once a minute; three missed ones are a dead peer. Reopening a quiet but healthy watch costs one request. */
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
      onWarning: options.onWarning,
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
    return (await this.#json("get", "GET", resource, at, path, options)) as T;
  }

  async create<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions & { readonly name?: string } = {},
  ): Promise<T> {
    const { namespace } = object.metadata;
    requireNamespace(resource, namespace, "create");
    const path = pathOf(resource, { namespace, name: options.name, subresource: options.subresource });
    const at = { namespace, name: object.metadata.name ?? `${object.metadata.generateName ?? ""}*` };
    return (await this.#json("create", "POST", resource, at, withQuery(path, writeQuery(options)), {
      ...options,
      body: JSON.stringify({ ...object, apiVersion: apiVersionOf(resource), kind: resource.kind }),
    })) as T;
  }

  /** Replaces the object; `conflict` if it carries a resourceVersion that is no longer current. */
  async update<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const at = { namespace: object.metadata.namespace, name: object.metadata.name ?? "" };
    const path = pathOf(resource, { ...at, subresource: options.subresource });
    return (await this.#json("update", "PUT", resource, at, withQuery(path, writeQuery(options)), {
      ...options,
      body: JSON.stringify({ ...object, apiVersion: apiVersionOf(resource), kind: resource.kind }),
    })) as T;
  }

  async patch<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectName,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const path = pathOf(resource, { ...at, subresource: options.subresource });
    const query = { ...writeQuery(options), force: patch.type === "apply" ? patch.force : undefined };
    return (await this.#json("patch", "PATCH", resource, at, withQuery(path, query), {
      ...options,
      body: patchBody(patch),
      contentType: patchTypes[patch.type],
    })) as T;
  }

  /** The object as the server left it (finalizers, grace period), or undefined where it answered that it is gone. */
  async delete<T extends KubeObject>(
    resource: Resource<T>,
    at: ObjectName,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const answer = await this.#json("delete", "DELETE", resource, at, pathOf(resource, at), {
      ...options,
      body: deleteBody(options),
    });
    return (answer as KubeObject).kind === "Status" ? undefined : (answer as T);
  }

  async deleteCollection(resource: Resource, scope: Scope, options: DeleteOptions = {}): Promise<void> {
    requireNamespace(resource, scope.namespace, "delete");
    const path = withQuery(pathOf(resource, { namespace: scope.namespace }), selectors(scope));
    const at = { namespace: scope.namespace, name: "*" };
    await this.#json("delete", "DELETE", resource, at, path, { ...options, body: deleteBody(options) });
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

  /**
   * Hands over each object as its bytes arrive, page after page. If the server has forgotten the snapshot between two pages, `restart` is
   * called and everything comes again, in one answer: what was handed over before counts no more.
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
        const metadata = await this.#patiently(query, options, () =>
          this.#page(resource, options, query, (object) => sink.item(object)),
        );
        if (metadata.continue === undefined || metadata.continue === "") return metadata;
        query = { ...selectors(options), limit: query["limit"], continue: metadata.continue };
      } catch (error) {
        if (!(error instanceof ApiError && error.code === "gone" && query["continue"] !== undefined)) throw error;
        sink.restart();
        query = selectors(options);
      }
    }
    throw new ApiError("malformed", `list ${resource.kind}: the list did not end after ${maxPages} pages.`);
  }

  /** Opens when first iterated. The server ends it after `timeoutSeconds`; the caller resumes from the last version it saw. */
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
    const limits = { openMs, idleMs, onOpen };
    return watchStream<T>(this.#caller, call, limits);
  }

  /** The text of what is not a resource: /readyz, /version, discovery. */
  async raw(path: string, options: CallOptions = {}): Promise<string> {
    const call = { what: `get ${path}`, method: "GET", path, ...this.#limits(options) };
    return perform(this.#caller, call, ({ body }, signal) => readText(body, signal));
  }

  /** A server that asks for a pause in the middle of a list gets it, and is not asked for the pages before a second time. */
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
    item: (object: T) => void,
  ): Promise<ListMeta> {
    const path = withQuery(pathOf(resource, { namespace: options.namespace }), query);
    const call = { what: `list ${resource.kind}`, method: "GET", path, ...this.#limits(options) };
    return perform(this.#caller, call, async (response, signal) => {
      const cut = options.dropManagedFields === true ? withoutManagedFields : (text: string) => text;
      const splitter = new ItemSplitter((text) => item(typed(resource, JSON.parse(cut(text)) as T)));
      await eachChunk(response, signal, (chunk) => splitter.push(chunk));
      const envelope = splitter.end() as { metadata?: ListMeta };
      return envelope.metadata ?? {};
    });
  }

  async #json(
    verb: string,
    method: string,
    resource: Resource,
    at: { readonly namespace?: string | undefined; readonly name: string },
    path: string,
    options: CallOptions & { readonly body?: string; readonly contentType?: string },
  ): Promise<unknown> {
    const what = `${verb} ${resource.kind} ${keyOf({ metadata: at })}`;
    const headers = options.body === undefined ? {} : { "content-type": options.contentType ?? "application/json" };
    const body = options.body === undefined ? {} : { body: options.body };
    return perform(this.#caller, { what, method, path, headers, ...body, ...this.#limits(options) }, readJson);
  }

  #limits(options: CallOptions) {
    return { signal: options.signal, timeoutMs: options.timeoutMs ?? this.#timeoutMs };
  }
}

/** Items of a list often come without their type; it is filled in, with strings that all of them share. */
function typed<T extends KubeObject>(resource: Resource, object: T): T {
  object.apiVersion = apiVersionOf(resource);
  object.kind = resource.kind;
  return object;
}

function selectors({ labelSelector, fieldSelector }: Scope): Query {
  return { labelSelector, fieldSelector };
}

function writeQuery(options: WriteOptions): Query {
  return {
    dryRun: options.dryRun === true ? "All" : undefined,
    fieldManager: options.fieldManager,
    fieldValidation: options.fieldValidation,
  };
}

function deleteBody(options: DeleteOptions): string {
  const { gracePeriodSeconds, propagationPolicy, preconditions } = options;
  return JSON.stringify({
    kind: "DeleteOptions",
    apiVersion: "v1",
    gracePeriodSeconds,
    propagationPolicy,
    preconditions,
    dryRun: options.dryRun === true ? ["All"] : undefined,
  });
}

function requireNamespace(resource: Resource, namespace: string | undefined, verb: string): void {
  if (resource.namespaced && namespace === undefined) {
    throw new TypeError(`Cannot ${verb} a ${resource.kind} without a namespace: the kind is namespaced.`);
  }
}
