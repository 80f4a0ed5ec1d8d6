// List, then watch from the list's version, for as long as the signal lets it. Everything is told to a sink, in order.
//
// Promised: the sink converges on what the server has, whatever breaks in between; a version that the server has forgotten (410) or never
// reached (a restored etcd) leads to a new list; a peer that fell silent is noticed. Not promised: every intermediate state of an object.
//
// A server whose etcd was restored accepts a watch from a version that it has not reached, and is silent until it has (kubernetes/kubernetes#107457).
// So after a watch that ended before its time the server's version is read before the watch is resumed. Where that has passed ours again nothing tells
// the two histories apart here: who finds out by other means calls `relist`.
import { asError } from "../abort.ts";
import { type Clock, sleep } from "../clock.ts";
import { ApiError, isApiError, isVersionTooLarge, retryAfterOf } from "../errors.ts";
import type { KubeObject } from "../meta.ts";
import { Backoff, type BackoffSettings, reflectorBackoff } from "../queue/backoff.ts";
import type { Resource } from "../resource.ts";
import type { KubeClient, Scope } from "../rest.ts";
import type { WatchEvent } from "./watch.ts";

export interface ReflectorSink<T extends KubeObject> {
  /** One object of a list under way. */
  listed(object: T): void;
  /** The list under way counts no more: another begins. */
  relist(): void;
  /** The list is complete: what it did not name is gone. */
  replaced(): void;
  changed(type: "ADDED" | "MODIFIED" | "DELETED", object: T): void;
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly scope?: Scope | undefined;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly backoff?: BackoffSettings;
  readonly pageSize?: number | undefined;
  /**
   * The first list may come from the server's watch cache, which may be a moment behind: for a selection out of many objects that very many
   * clients ask for. API servers up to 1.30, and 1.33, read every object of the kind from etcd for a list that must be the latest.
   */
  readonly fromCache?: boolean | undefined;
  /** The sink has no use for managedFields: lists come without them. */
  readonly dropManagedFields?: boolean;
  readonly idleMs?: number | undefined;
  readonly onError?: (error: Error) => void;
  /** Told every version that it comes to, in order; not that of a first list from a cache, which may be behind. */
  readonly onVersion?: (version: string) => void;
  /** The server follows a watch from here on, or no more; `early`: it ended before its time, perhaps to come back with other storage. */
  readonly onWatching?: (is: "open" | "closed" | "early") => void;
}

/** client-go's: watches end after five to ten minutes, at random, so that many clients do not come back at once. */
const minWatchSeconds = 300;
/** A watch that ends at once and says nothing new is a server in trouble: reopening it without a pause would be a busy loop. */
const shortWatchMs = 1000;
/** Servers end a watch to the second, as a rule. */
const earlyMs = 10_000;
/** One page may be large and the server busy. */
const listTimeoutMs = 120_000;
const probeTimeoutMs = 10_000;
/** A restore concerns all who follow the server: they do not list all at once. */
const spreadMs = 2000;

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #sink: ReflectorSink<T>;
  readonly #random: () => number;
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
    this.#options = options;
    this.#sink = sink;
    this.#random = options.random ?? Math.random;
    this.#atLeast = this.#whatever;
    this.#backoff = new Backoff(options.backoff ?? reflectorBackoff, options.clock, this.#random);
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
    const { client, resource, scope, pageSize, dropManagedFields = false } = this.#options;
    this.#sink.relist();
    const size = this.#atLeast === "" ? (pageSize === undefined ? {} : { pageSize }) : { pageSize: 0 };
    const from = this.#atLeast === "" ? {} : { resourceVersion: this.#atLeast };
    const options = { ...scope, signal, timeoutMs: listTimeoutMs, ...size, ...from, dropManagedFields };
    const metadata = await client.listEach(resource, options, {
      item: (object) => this.#sink.listed(object),
      restart: () => this.#sink.relist(),
    });
    if (metadata.resourceVersion === undefined) {
      throw new ApiError("malformed", `list ${resource.kind}: the list has no resourceVersion to watch from.`);
    }
    const isBehind = this.#atLeast === "0";
    if (!isBehind) this.#options.onVersion?.(metadata.resourceVersion);
    this.#sink.replaced();
    this.#version = metadata.resourceVersion;
    this.#atLeast = metadata.resourceVersion;
    this.#isDoubted = false;
  }

  /** Throws where the server has not reached the version. */
  async #assure(version: string, signal: AbortSignal): Promise<void> {
    const { client, resource } = this.#options;
    const options = { ...this.#oneKey, pageSize: 1, signal, timeoutMs: probeTimeoutMs };
    const { metadata } = await client.list(resource, options);
    this.#isDoubted = false;
    // Opaque to clients of old; every server that is known counts.
    if (!(Number(metadata.resourceVersion) < Number(version))) return;
    this.relist();
    const words = `the server is at version ${metadata.resourceVersion}, before ${version}, where it was: it was restored from an older copy.`;
    throw new ApiError("gone", `watch ${resource.kind}: ${words} It is listed anew.`);
  }

  /** A list by name is a read of one key, whether or not it is there; one by other fields may be a read of every object of the kind. */
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
    const { client, resource, scope, clock, idleMs } = this.#options;
    const timeoutSeconds = Math.floor(minWatchSeconds * (1 + this.#random()));
    const { onWatching } = this.#options;
    const limits = {
      ...(idleMs === undefined ? {} : { idleMs }),
      ...(onWatching && { onOpen: () => onWatching("open") }),
    };
    const until = AbortSignal.any([signal, this.#history.signal]);
    if (until.aborted) throw new ApiError("aborted", `watch ${resource.kind}: ended before it began.`);
    const options = { ...scope, signal: until, resourceVersion, timeoutSeconds, ...limits };
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
    // Read before the sink has the object, which may freeze or keep it; set after, so that a sink that throws gets it again.
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
    if (!isApiError(error, "aborted")) this.#options.onError?.(asError(error));
    if (this.#history.signal.aborted) {
      this.#history = new AbortController();
      this.#version = undefined;
      this.#atLeast = this.#whatever;
      await sleep(this.#options.clock, spreadMs * this.#random(), signal);
      return;
    }
    // A version that the server has forgotten, never reached or cannot read: it is asked for the latest, whatever that is.
    const isRefused = this.#version === undefined && isApiError(error, "gone", "bad-request", "invalid");
    if (isRefused || isVersionTooLarge(error)) this.#atLeast = "";
    if (needsList(error)) this.#version = undefined;
    // Those who were told to come back in so many seconds do not all come back in the same one.
    const askedMs = retryAfterOf(error) * (1 + this.#random());
    const waitMs = Math.max(this.#backoff.next(), askedMs);
    await sleep(this.#options.clock, waitMs, signal);
  }
}

/** After a lost connection the watch resumes where it was. A version or an event that the server or we cannot make sense of does not. */
function needsList(error: unknown): boolean {
  if (isVersionTooLarge(error)) return true;
  return !isApiError(
    error,
    "unreachable",
    "outcome-unknown",
    "unavailable",
    "too-many-requests",
    "internal",
    "unauthorized",
    "forbidden",
  );
}
