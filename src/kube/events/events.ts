// Events about objects, for `kubectl describe`. Best effort: never waited for, dropped rather than piled up.
import { randomBytes } from "node:crypto";

import { asError } from "../abort.ts";
import { Recent } from "../cache/recent.ts";
import { type Clock, deadline, realClock, sleep, timestamp } from "../clock.ts";
import { isApiError, retryAfterOf } from "../errors.ts";
import type { DeepReadonly, KubeObject } from "../meta.ts";
import { TokenBucket } from "../queue/ratelimit.ts";
import { defineResource } from "../resource.ts";
import type { KubeClient } from "../rest.ts";
import { unless } from "../unless.ts";

interface EventObject extends KubeObject {
  involvedObject: Readonly<Record<string, string | undefined>>;
  type: string;
  reason: string;
  message: string;
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
  source: { component: string };
  reportingComponent: string;
  reportingInstance: string;
}

const events = defineResource<EventObject>({ group: "", version: "v1", kind: "Event", namespaced: true });

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** Who tells: `holdfast-controller`. */
  readonly component: string;
  /** Which of them: the pod or host name. */
  readonly instance: string;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly onError?: (error: Error) => void;
}

interface Waiting {
  readonly id: string;
  readonly event: EventObject;
}

/** About 1 KB each: 1 MB while the server is away. */
const maxWaiting = 1000;
/** The API server refuses longer ones. */
const maxMessage = 1024;
const maxTries = 5;
const flushMs = 5000;
const callMs = 10_000;
const defaults = { clock: realClock, random: () => Math.random() };

export class EventRecorder {
  readonly #options: EventRecorderOptions & typeof defaults;
  readonly #judge: ReturnType<typeof correlator>;
  readonly #waiting: Waiting[] = [];
  /** Event id -> name of the object on the server that counts it. */
  readonly #names = new Recent<string>(4096);
  #wake = () => {};
  #dropped = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = { ...defaults, ...options };
    this.#judge = correlator(this.#options.clock);
  }

  /** Events that were not written: too many about one object, too many at once, or refused. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Returns at once. `reason` is one CamelCase word, `words` a sentence. */
  record(object: DeepReadonly<KubeObject>, type: "Normal" | "Warning", reason: string, words: string): void {
    const message = words.slice(0, maxMessage); // the correlator remembers it
    const about = object.metadata.uid ?? `${object.kind}/${object.metadata.namespace}/${object.metadata.name}`;
    const known = this.#judge(about, type, reason, message);
    if (known === undefined || this.#waiting.length >= maxWaiting) {
      this.#dropped++;
      return;
    }
    const told = { type, reason, message: known.message.slice(0, maxMessage) };
    this.#waiting.push({ id: known.id, event: this.#event(object, told, known.count, known.firstMs) });
    this.#wake();
  }

  /** Sends until the signal aborts, then what is left within a few seconds. */
  async run(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort, { once: true });
    while (!signal.aborted) {
      const next = this.#waiting.shift();
      if (next !== undefined) await this.#send(next, signal);
      else if (!signal.aborted) await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    using limit = deadline(this.#options.clock, flushMs);
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (limit.signal.aborted) this.#dropped++;
      else await this.#write(next, limit.signal).catch(() => this.#dropped++);
    }
  }

  async #send(waiting: Waiting, signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#write(waiting, signal);
      } catch (error) {
        if (signal.aborted) return void this.#waiting.unshift(waiting); // the flush takes it
        const passing = isApiError(error, "unreachable", "outcome-unknown", "unavailable", "too-many-requests");
        if (!passing || tries === maxTries) {
          this.#dropped++;
          this.#options.onError?.(asError(error));
          return;
        }
        const { clock, random } = this.#options;
        const waitMs = Math.max(retryAfterOf(error), 1000 * 2 ** (tries - 1)) * (1 + random());
        await sleep(clock, waitMs, signal);
      }
    }
  }

  async #write({ id, event }: Waiting, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const known = this.#names.get(id);
    const call = { signal, timeoutMs: callMs };
    if (known !== undefined && event.count > 1) {
      const { count, lastTimestamp, message } = event;
      const at = { namespace: event.metadata.namespace!, name: known };
      const patch = client.patch(events, at, { type: "merge", body: { count, lastTimestamp, message } }, call);
      // Events live an hour; then it is told anew.
      if ((await unless(["not-found"], patch)) !== undefined) return;
    }
    // There already: an earlier try whose answer was lost.
    await unless(["already-exists"], client.create(events, event, call));
    this.#names.set(id, event.metadata.name!);
  }

  #event(
    object: DeepReadonly<KubeObject>,
    words: { type: string; reason: string; message: string },
    count: number,
    firstMs: number,
  ): EventObject {
    const { name = "", namespace, uid, resourceVersion } = object.metadata;
    const place = namespace ?? "default"; // where Kubernetes puts events about cluster-wide objects
    const { component, instance } = this.#options;
    return {
      metadata: { namespace: place, name: `${name.slice(0, 200)}.${randomBytes(8).toString("hex")}` },
      involvedObject: { apiVersion: object.apiVersion, kind: object.kind, name, namespace, uid, resourceVersion },
      ...words,
      count,
      firstTimestamp: timestamp(firstMs),
      lastTimestamp: timestamp(this.#options.clock.wallMs()),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
    };
  }
}

/** client-go's: 4,096 memories of some hundred bytes; more than 10 different messages in 10 minutes are combined. */
const memories = 4096;
const similarLimit = 10;
const similarWindowMs = 600_000;
/** And 25 at once per object and source, then one in five minutes. */
const burst = 25;
const perSecond = 1 / 300;

/**
 * Decides what becomes of an event before it is sent, as client-go's correlator does: repeated ones are counted in one
 * object, many similar ones are combined, and one object may not flood.
 */
function correlator(clock: Clock) {
  const similar = new Recent<{ readonly sinceMs: number; readonly messages: Set<string> }>(memories);
  const counts = new Recent<{ count: number; readonly firstMs: number }>(memories);
  const floods = new Recent<TokenBucket>(memories);
  const isMany = (group: string, message: string): boolean => {
    const nowMs = clock.monotonicMs();
    let known = similar.get(group);
    if (known === undefined || nowMs - known.sinceMs > similarWindowMs) {
      known = { sinceMs: nowMs, messages: new Set() };
      similar.set(group, known);
    }
    if (known.messages.size <= similarLimit) known.messages.add(message);
    return known.messages.size > similarLimit;
  };
  /** `about` is the uid of the object, or its kind and name. Undefined: the event is dropped. */
  return (about: string, type: string, reason: string, message: string) => {
    const flood = floods.get(about) ?? new TokenBucket(perSecond, burst, clock);
    floods.set(about, flood);
    if (!flood.take()) return undefined;
    const group = `${about}\n${type}\n${reason}`;
    const combined = isMany(group, message);
    const id = combined ? group : `${group}\n${message}`;
    const known = counts.get(id) ?? { count: 0, firstMs: clock.wallMs() };
    known.count++;
    counts.set(id, known);
    const words = combined ? `(combined from similar events): ${message}` : message;
    return { id, message: words, count: known.count, firstMs: known.firstMs };
  };
}
