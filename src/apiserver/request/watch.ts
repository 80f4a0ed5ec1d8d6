// Watches: each change of matching objects after a revision, once and in order; bookmarks say how far the client is.
import { type Clock, sleep } from "../../kube/clock.ts";
import { writeJson } from "../json.ts";
import { apiVersion } from "../registry/resource.ts";
import { fieldError, invalidOptions } from "../status.ts";
import { type Change, Entry } from "../store/entry.ts";
import type { Store } from "../store/store.ts";
import { type Context, compactedError, numberIn, refuseFuture } from "./context.ts";
import { type Filter, filterOf } from "./filter.ts";
import { Stream } from "./stream.ts";

/** The real server sends one about once a minute. */
const bookmarkIntervalMs = 60_000;
/** The real server picks 30 to 60 minutes where the client names no timeout. */
const defaultTimeoutSeconds = 30 * 60;

/** How one object is written into an event: whole, as a table row, as metadata only. */
export type Render = (entry: Entry, isFirst: boolean) => string;

export interface Watches {
  readonly store: Store;
  readonly clock: Clock;
  /** Open ones, so that they can be closed together. */
  readonly open: Set<Stream>;
}

export function watch(watches: Watches, context: Context, render: Render): Stream {
  const { query } = context;
  const initial = query.get("sendInitialEvents");
  checkInitial(initial, query.get("resourceVersionMatch") ?? "");
  const since = numberIn(query, "resourceVersion");
  const session = new Session(watches, context, render);
  if (since !== undefined && since > 0 && initial !== "true") {
    refuseFuture(watches.store, since);
    session.replay(since);
  } else if (initial === "false") {
    session.replay(watches.store.revision);
  } else {
    if (since !== undefined) refuseFuture(watches.store, since);
    session.replayState(initial === "true");
  }
  session.run();
  return session.stream;
}

function checkInitial(initial: string | null, match: string): void {
  const rule =
    initial === null
      ? "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
      : "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
  const isRight = initial === null ? match === "" : match === "NotOlderThan";
  if (!isRight) throw invalidOptions("ListOptions", fieldError.forbidden("resourceVersionMatch", rule));
}

class Session {
  readonly stream: Stream;
  readonly #watches: Watches;
  readonly #context: Context;
  readonly #filter: Filter | undefined;
  readonly #render: Render;
  readonly #bookmarks: boolean;
  readonly #timeoutMs: number;
  readonly #stop = new AbortController();
  #unsubscribe: () => void = () => {};
  #sent = 0;
  /** Off while what the client asked for is being written. */
  #isLive = false;

  constructor(watches: Watches, context: Context, render: Render) {
    this.#watches = watches;
    this.#context = context;
    this.#filter = filterOf(context);
    this.#render = render;
    this.#bookmarks = context.query.get("allowWatchBookmarks") === "true";
    this.#timeoutMs = (numberIn(context.query, "timeoutSeconds") || defaultTimeoutSeconds) * 1000;
    this.stream = new Stream(() => this.#finish());
    if (context.signal?.aborted === true) this.stream.end();
    context.signal?.addEventListener("abort", () => this.stream.end(), { once: true, signal: this.#stop.signal });
  }

  /** Unless it has ended already: its revision was too old, or its client has gone. */
  run(): void {
    if (this.stream.ended) return;
    this.#isLive = true;
    const { store, clock, open } = this.#watches;
    open.add(this.stream);
    this.#unsubscribe = store.subscribe((changes) => {
      try {
        for (const change of changes) this.#deliver(change);
      } catch {
        // An object that cannot be shown as this client wants it ends this watch, but no write and no other watch.
        this.stream.end();
      }
    });
    void sleep(clock, this.#timeoutMs, this.#stop.signal).then(() => this.stream.end());
    if (this.#bookmarks) void this.#bookmarkNowAndThen();
  }

  /** The changes after a revision, or, when they are no longer known, an ERROR event and the end. */
  replay(revision: number): void {
    const { store } = this.#watches;
    const error = compactedError(store, revision);
    if (error === undefined) {
      for (const change of store.history.since(revision)) this.#deliver(change);
    } else {
      this.#send("ERROR", JSON.stringify(error.status()));
      this.stream.end();
    }
  }

  /** The objects as they are now, as if each had just been added. */
  replayState(withEnd: boolean): void {
    const { store } = this.#watches;
    const { resource, namespace } = this.#context;
    for (const entry of store.collection(resource.storage).list(namespace)) {
      if (this.#matches(entry)) this.#sendEntry("ADDED", entry);
    }
    if (withEnd && this.#bookmarks) this.#bookmark({ "k8s.io/initial-events-end": "true" });
  }

  #matches(entry: Entry): boolean {
    return this.#filter === undefined || this.#filter(entry);
  }

  /** An object that comes to match, or no longer does, is added and deleted as far as this watch can tell. */
  #deliver(change: Change): void {
    const { entry, previous } = change;
    const { resource, namespace } = this.#context;
    if (entry.resource !== resource.storage || (namespace !== "" && entry.namespace !== namespace)) return;
    const isMatch = change.type !== "DELETED" && this.#matches(entry);
    const wasMatch = previous !== undefined && this.#matches(previous);
    if (isMatch) this.#sendEntry(wasMatch ? "MODIFIED" : "ADDED", entry);
    else if (wasMatch)
      this.#sendEntry("DELETED", change.type === "DELETED" ? entry : restamped(previous, change.revision));
  }

  #sendEntry(type: string, entry: Entry): void {
    this.#send(type, this.#render(entry, this.#sent === 0));
    this.#sent++;
  }

  #send(type: string, object: string): void {
    const line = `{"type":"${type}","object":${object}}\n`;
    if (this.#isLive) this.stream.push(line);
    else this.stream.begin(line);
  }

  #bookmark(annotations?: Record<string, string>): void {
    const { resource } = this.#context;
    const metadata = { resourceVersion: String(this.#watches.store.revision), annotations };
    this.#send("BOOKMARK", JSON.stringify({ kind: resource.kind, apiVersion: apiVersion(resource), metadata }));
  }

  async #bookmarkNowAndThen(): Promise<void> {
    const { signal } = this.#stop;
    const intervalMs = Math.min(bookmarkIntervalMs, Math.max(1000, this.#timeoutMs - 2000));
    while (await sleep(this.#watches.clock, intervalMs, signal)) this.#bookmark();
  }

  #finish(): void {
    this.#unsubscribe();
    this.#watches.open.delete(this.stream);
    this.#stop.abort();
  }
}

/** The last state that matched, at the revision at which it stopped to. */
function restamped(previous: Entry, revision: number): Entry {
  const metadata = { ...previous.object.metadata, resourceVersion: String(revision) };
  const object = { ...previous.object, metadata };
  return new Entry(previous, revision, writeJson(object), object);
}
