// List, then watch from the list's version, for as long as the signal lets it. Everything is told to a sink, in order.
//
// Promised: the sink converges on what the server has, whatever breaks in between; a version that the server has
// forgotten (410) or never reached (a restored etcd) leads to a new list; a peer that fell silent is noticed.
// Not promised: every intermediate state of an object.
//
// A server whose etcd was restored accepts a watch from a version that it has not reached, and is silent until it has
// (kubernetes/kubernetes#107457). So after a watch that ended before its time the server's version is read first. Where
// it has passed ours again nothing tells the two histories apart here: who finds out by other means calls `relist`.
import { asError } from "../abort.ts";
import { type Clock, realClock, sleep } from "../clock.ts";
import { ApiError, isApiError, isVersionTooLarge, retryAfterOf } from "../errors.ts";
import type { KubeObject } from "../meta.ts";
import { Backoff } from "../queue/backoff.ts";
import type { Resource } from "../resource.ts";
import type { KubeClient, Scope } from "../rest.ts";
import type { WatchEvent } from "./watch.ts";

export interface ReflectorSink<T extends KubeObject> {
  /** One object of a list under way. */
  listed(object: T): void;
  /** The list under way counts no more: another begins. */
  relist(): void;
  /** The list is complete: what it did not name is gone. A promise: nothing more is told before it is fulfilled. */
  replaced(): void | Promise<void>;
  changed(type: "ADDED" | "MODIFIED" | "DELETED", object: T): void;
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly scope?: Scope;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly pageSize?: number;
  /**
   * The first list may come from the server's watch cache, which may be a moment behind: for a selection that very many
   * clients ask for. Where it must be the latest, servers up to 1.30, and 1.33, read the whole kind from etcd for it.
   */
  readonly fromCache?: boolean;
  readonly idleMs?: number;
  /** Told of what went wrong and is being retried. */
  readonly onError?: (error: Error) => void;
  /** Told every version that it comes to, in order; not that of a first list from a cache, which may be behind. */
  readonly onVersion?: (version: string) => void;
  /** The server follows a watch from here on, or no more; `early`: it ended before its time, perhaps for a restore. */
  readonly onWatching?: (is: "open" | "closed" | "early") => void;
}

/** client-go's: watches end after five to ten minutes, at random, so that many clients do not come back at once. */
const minWatchSeconds = 300;
/** A watch that ends at once and says nothing new is a server in trouble: without a pause it would be a busy loop. */
const shortWatchMs = 1000;
/** Servers end a watch to the second, as a rule. */
const earlyMs = 10_000;
/** One page may be large and the server busy. */
const listTimeoutMs = 120_000;
const probeTimeoutMs = 10_000;
/** A restore concerns all who follow the server: they do not list all at once. */
const spreadMs = 2000;

/** client-go's: 0.8 s doubling to 30 s, each up to twice as long, forgotten after two good minutes. */
const backoff = { firstMs: 800, maxMs: 30_000, jitter: 1, resetAfterMs: 120_000 };
const defaults = { clock: realClock, random: () => Math.random() };

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T> & typeof defaults;
  readonly #sink: ReflectorSink<T>;
  readonly #backoff: Backoff;
  /** The last version seen; undefined if a list is due. */
  #version: string | undefined;
  /** A list is at least as new: nobody is set back. Empty: the latest. "0": whatever the cache has. */
  #atLeast: string;
  /** A watch ended before its time: the server may have come back with another history. */
  #isDoubted = false;
  /** Aborts when what is known counts no more. */
  #history = new AbortController();

  constructor(options: ReflectorOptions<T>, sink: ReflectorSink<T>) {
    this.#options = { ...defaults, ...options };
    this.#sink = sink;
    this.#atLeast = this.#whatever;
    this.#backoff = new Backoff(backoff, this.#options.clock, this.#options.random);
  }

  /** The server's history is another one: the watch ends, and a list follows, of whatever the server has. */
  relist(): void {
    this.#history.abort(new Error("The server's history is another one."));
  }

  /** Ends only with the signal, and then without an error. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list(signal);
        else if (this.#isDoubted) await this.#assure(this.#version, signal);
        await this.#watch(this.#version ?? "", signal);
      } catch (error) {
        await this.#failed(error, signal);
      }
    }
  }

  /** From the watch cache where a version is given, and in one answer: a page of such a list would come from etcd. */
  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, scope, pageSize, onVersion } = this.#options;
    this.#sink.relist();
    const latest = pageSize === undefined ? {} : { pageSize };
    const from = this.#atLeast === "" ? latest : { pageSize: 0, resourceVersion: this.#atLeast };
    const options = { ...scope, signal, timeoutMs: listTimeoutMs, ...from, dropManagedFields: true };
    const { resourceVersion: version } = await client.listEach(resource, options, {
      item: (object) => this.#sink.listed(object),
      restart: () => this.#sink.relist(),
    });
    if (version === undefined) {
      throw new ApiError("malformed", `list ${resource.kind}: the list has no resourceVersion to watch from.`);
    }
    if (this.#atLeast !== "0") onVersion?.(version);
    await this.#sink.replaced();
    this.#version = version;
    this.#atLeast = version;
    this.#isDoubted = false;
  }

  /** Throws where the server has not reached the version. */
  async #assure(version: string, signal: AbortSignal): Promise<void> {
    const { client, resource } = this.#options;
    const options = { ...this.#oneKey, pageSize: 1, signal, timeoutMs: probeTimeoutMs };
    const { resourceVersion: now } = (await client.list(resource, options)).metadata;
    this.#isDoubted = false;
    // Opaque to clients of old; every server that is known counts.
    if (!(Number(now) < Number(version))) return;
    this.relist();
    const words = `the server is at version ${now}, before ${version}, where it was: it was restored from an older copy.`;
    throw new ApiError("gone", `watch ${resource.kind}: ${words} It is listed anew.`);
  }

  /** A list by name is a read of one key, whether or not it is there; one by other fields may read the whole kind. */
  get #oneKey(): Scope {
    const { resource, scope } = this.#options;
    // Who follows one object may be allowed no other.
    if (scope?.fieldSelector?.startsWith("metadata.name=") === true) return scope;
    const namespace = resource.namespaced ? (scope?.namespace ?? "default") : undefined;
    return { namespace, fieldSelector: "metadata.name=holdfast" };
  }

  get #whatever(): "" | "0" {
    return this.#options.fromCache === true ? "0" : "";
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, resource, scope, clock, random, idleMs, onWatching } = this.#options;
    const timeoutSeconds = Math.floor(minWatchSeconds * (1 + random()));
    const until = AbortSignal.any([signal, this.#history.signal]);
    if (until.aborted) throw new ApiError("aborted", `watch ${resource.kind}: ended before it began.`);
    const limits = { signal: until, timeoutSeconds, ...(idleMs !== undefined && { idleMs }) };
    const options = { ...scope, ...limits, resourceVersion, onOpen: () => onWatching?.("open") };
    const startedMs = clock.monotonicMs();
    let isWhole = false;
    try {
      for await (const event of client.watch(resource, options)) this.#take(event);
      isWhole = clock.monotonicMs() - startedMs >= 1000 * timeoutSeconds - earlyMs;
    } finally {
      this.#isDoubted = !isWhole;
      onWatching?.(isWhole || this.#history.signal.aborted ? "closed" : "early");
    }
    if (this.#version === resourceVersion && clock.monotonicMs() - startedMs < shortWatchMs) {
      throw new ApiError("unavailable", `watch ${resource.kind}: the server closed the watch at once.`);
    }
  }

  #take(event: WatchEvent<T>): void {
    if (event.type === "BOOKMARK") {
      if (event.resourceVersion !== "") this.#came(event.resourceVersion);
      return;
    }
    // Read before the sink has the object, which it may keep; set after, so that a sink that throws gets it again.
    const { resourceVersion } = event.object.metadata;
    this.#sink.changed(event.type, event.object);
    this.#came(resourceVersion);
  }

  #came(version: string | undefined): void {
    this.#version = version;
    if (version === undefined) return;
    this.#atLeast = version;
    this.#options.onVersion?.(version);
  }

  async #failed(error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { clock, random, onError } = this.#options;
    if (!isApiError(error, "aborted")) onError?.(asError(error));
    if (this.#history.signal.aborted) {
      this.#history = new AbortController();
      this.#version = undefined;
      this.#atLeast = this.#whatever;
      await sleep(clock, spreadMs * random(), signal);
      return;
    }
    // A version that the server has forgotten, never reached or cannot read: it is asked for the latest.
    const isRefused = this.#version === undefined && isApiError(error, "gone", "bad-request", "invalid");
    if (isRefused || isVersionTooLarge(error)) this.#atLeast = "";
    if (needsList(error)) this.#version = undefined;
    // Those who were told to come back in so many seconds do not all come back in the same one.
    const askedMs = retryAfterOf(error) * (1 + random());
    await sleep(clock, Math.max(this.#backoff.next(), askedMs), signal);
  }
}

/** A watch resumes after a lost connection; it cannot after an answer that the server or we cannot make sense of. */
function needsList(error: unknown): boolean {
  const isLost = isApiError(error, "unreachable", "outcome-unknown", "unavailable", "too-many-requests", "internal");
  return isVersionTooLarge(error) || !(isLost || isApiError(error, "unauthorized", "forbidden"));
}
