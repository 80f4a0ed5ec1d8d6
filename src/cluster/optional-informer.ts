// Objects of a kind that may be installed after us (multi-network definitions, KubeVirt's kinds, claims): followed once
// the cluster has it. Promised: a kind that is not served reads as no objects; one not listed yet, or of which the
// server does not say, as not known. Not promised: notice of a kind that goes: its objects go first, told as deleted.
import { asError } from "../kube/abort.ts";
import { Informer, type InformerHandler } from "../kube/cache/informer.ts";
import type { PackingOptions } from "../kube/cache/packed/shelf.ts";
import type { Cache, Indexes } from "../kube/cache/store.ts";
import { type Clock, sleep } from "../kube/clock.ts";
import { isApiError, retryAfterOf } from "../kube/errors.ts";
import type { DeepReadonly, KubeObject } from "../kube/meta.ts";
import type { Runnable } from "../kube/process/stages.ts";
import { pathOf, type Resource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";

export interface OptionalInformerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly resource: Resource<T>;
  readonly indexes?: Indexes<T>;
  readonly transform?: (object: T) => T;
  readonly packed?: PackingOptions;
  readonly onError: (error: Error) => void;
  /**
   * Nobody may list it before it is wanted here: everybody may ask whether there is such a kind, and is not refused.
   * Default: the list itself is the question.
   */
  readonly asksFirst?: boolean;
  /** How often a cluster that lacks the kind is asked again; up to twice as long, since a thousand may ask. */
  readonly retryMs?: number;
  readonly random?: () => number;
}

export class OptionalInformer<T extends KubeObject> {
  readonly #options: OptionalInformerOptions<T>;
  readonly #informer: Informer<T>;
  readonly #asked = Promise.withResolvers<void>();
  /** Ends the first list where the cluster has no such kind. */
  readonly #unserved = new AbortController();
  readonly follow: Runnable;
  /** Whether the cluster has the kind; undefined: its last answer did not say so. */
  #isServed: boolean | undefined;

  constructor(options: OptionalInformerOptions<T>) {
    this.#options = options;
    this.#informer = new Informer({ ...options, onError: (error) => this.#failed(error) });
    this.follow = { name: `following ${options.resource.plural}`, run: (signal) => this.#run(signal) };
  }

  get cache(): Cache<T> {
    return this.#informer.cache;
  }

  /** All of them have been listed, or the cluster has no such kind. */
  get isKnown(): boolean {
    return this.#isServed === false || this.#informer.hasSynced;
  }

  /** The cluster has the kind, and all of them have been listed. */
  get isListed(): boolean {
    return this.#informer.hasSynced;
  }

  async known(signal: AbortSignal): Promise<void> {
    await Promise.race([this.#informer.synced(signal), this.#asked.promise]);
  }

  listed(signal: AbortSignal): Promise<void> {
    return this.#informer.synced(signal);
  }

  /** Undefined: they have not been listed yet. */
  list(): readonly DeepReadonly<T>[] | undefined {
    return this.isKnown ? [...this.#informer.cache.list()] : undefined;
  }

  handle(handler: InformerHandler<T>): () => void {
    return this.#informer.handle(handler);
  }

  /** Told of what comes from now on. */
  handleNews(handler: InformerHandler<T>): () => void {
    return this.#informer.handleNews(handler);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, asksFirst = false } = this.#options;
    // The list itself says whether there is such a kind: at a start nobody waits for a question before it.
    if (!asksFirst) await this.#informer.run(AbortSignal.any([signal, this.#unserved.signal]));
    for (let waitMs: number | undefined; (waitMs = await this.#ask(signal)) !== undefined;)
      if (!(await sleep(clock, waitMs, signal))) return;
    this.#isServed = true;
    await this.#informer.run(signal);
  }

  #failed(error: Error): void {
    // A kind that was listed once and is not found now has gone: the informer tells that.
    if (this.#isServed !== undefined || this.#informer.hasSynced || !isApiError(error, "not-found")) {
      this.#options.onError(error);
      return;
    }
    this.#isServed = false;
    this.#asked.resolve();
    this.#unserved.abort();
  }

  /** How long to wait before the next question; undefined: the kind is served. No answer leaves it open. */
  async #ask(signal: AbortSignal): Promise<number | undefined> {
    const { client, resource, retryMs = 30_000, random = Math.random, asksFirst = false } = this.#options;
    try {
      if (asksFirst) await client.raw(`/apis/${resource.group}/${resource.version}`, { signal });
      await client.raw(`${pathOf(resource, {})}?limit=1`, { signal });
      return undefined;
    } catch (error) {
      const isMissing = isApiError(error, "not-found");
      // It may have been installed meanwhile: a refusal or an overload does not say that there are none.
      this.#isServed = isMissing ? false : undefined;
      if (isMissing) this.#asked.resolve();
      if (!isMissing && !signal.aborted) this.#options.onError(asError(error));
      return Math.max(retryMs, retryAfterOf(error)) * (1 + random());
    }
  }
}
