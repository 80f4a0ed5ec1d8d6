// The node's one Lease (src/api/slices/node-lease.ts): renewed here, and followed for the controller's part of it.
// Promised: a renewal patches the daemon's own keys only, once a minute, at once for another version of the sliced
// ranges, and after a failure with growing pauses. It is guarded by the version that the daemon left. A Lease that is
// older than that is the sign of an API server that was restored from a copy: nobody else renews it, and unlike a
// version it says so also after the server has written as much again.
import {
  journalAnnotation,
  leaseNodeAnnotation,
  type NodeSlices,
  nodeLeaseName,
  readJournalSlices,
  readNodeSlices,
  seenAnnotation,
  slicesAnnotation,
} from "../../api/slices/node-lease.ts";
import { leases } from "../../cluster/resources.ts";
import { Informer } from "../../kube/cache/informer.ts";
import { sleep } from "../../kube/clock.ts";
import { isApiError, retryAfterOf } from "../../kube/errors.ts";
import type { Lease } from "../../kube/lease.ts";
import type { DeepReadonly, KubeObject } from "../../kube/meta.ts";
import { Backoff } from "../../kube/queue/backoff.ts";
import type { SliceAgentOptions } from "./agent.ts";
import type { Moment } from "./authority.ts";

export interface NodeLeaseOptions extends Pick<
  SliceAgentOptions,
  "client" | "node" | "clock" | "random" | "moment" | "seenVersion" | "toldVersion" | "daemons" | "assure" | "log"
> {
  readonly namespace: string;
  /** The journal's id. */
  readonly identity: string;
  readonly authorityMs: number;
  /** The journal's slices, as the leader is told them. */
  readonly journalText: () => string;
  /** A renewal is about to be tried. */
  readonly onTry: (at: Moment) => void;
  readonly onRenewed: (at: Moment) => Promise<void>;
  readonly onFailed: () => void;
  /** When the daemon before renewed it, at the latest; undefined: it never did, or nobody knows. */
  readonly renewedMs: () => number | undefined;
  /** The API server was restored from an older copy. It calls `restored`. */
  readonly onRestore: () => void;
  /** The Lease is of another journal: this node had a disk that it has lost. */
  readonly onOther: () => void;
  /** Once the Lease has been heard of, and at every change. */
  readonly onSlices: (slices: NodeSlices) => void;
}

/** 5,000 nodes once a minute are 83 writes a second of 1 KB each: kubelets' own Leases cost six times that. */
const renewEveryMs = 60_000;
/** A range that closes waits for every node's word: each second of delay is one without new addresses. */
const lookEveryMs = 1000;
const callMs = 10_000;
/** A renewal costs the API server about 4 ms: all nodes at once would wait for each other, and the leader for them. */
const perNodeMs = 4;
const longestSpreadMs = 30_000;
const backoff = { firstMs: 1000, maxMs: 30_000, jitter: 1, resetAfterMs: 120_000 };

export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #informer: Informer<Lease>;
  /** Ends the rest between two renewals. */
  #woken = new AbortController();
  #isDue = false;
  /** As it was left: a server with an older one was restored. */
  #left: { readonly renewedMs: number; readonly version?: string | undefined } | undefined;
  /** The journal before this one that was told. */
  #other: string | undefined;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
    const { client, namespace, node, clock, log, random } = options;
    this.#informer = new Informer({
      client,
      resource: leases,
      scope: { namespace, fieldSelector: `metadata.name=${nodeLeaseName(node)}` },
      clock,
      random,
      onError: (error) => log.debug("following the node's Lease", { error }),
    });
  }

  /** The controller's part has been heard, be it nothing. */
  get isHeard(): boolean {
    return this.#informer.hasSynced;
  }

  /** The API server has told something: perhaps another version. */
  look(): void {
    this.#woken.abort();
    this.#woken = new AbortController();
  }

  /** The leader waits for the daemon's word. */
  renewSoon(): void {
    this.#isDue = true;
    this.look();
  }

  restored(): void {
    this.#left = undefined;
    this.#informer.relist();
    this.renewSoon();
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#informer.handle(({ type, object }) => {
      this.#meet(object);
      const text = type === "delete" ? undefined : object.metadata.annotations?.[slicesAnnotation];
      this.#options.onSlices(readNodeSlices(text));
    });
    const renewedMs = this.#options.renewedMs();
    if (renewedMs !== undefined) this.#left = { renewedMs };
    await Promise.all([this.#informer.run(signal), this.#renewing(signal)]);
  }

  async #renewing(signal: AbortSignal): Promise<void> {
    const { clock, random, seenVersion, moment, onTry, onRenewed, onFailed, log } = this.#options;
    const pauses = new Backoff(backoff, clock, random);
    while (!signal.aborted) {
      this.#isDue = false;
      const seen = seenVersion();
      const at = moment();
      onTry(at);
      let pauseMs = renewEveryMs * (0.9 + 0.2 * random());
      try {
        // A failed look is tried again, and told then.
        await this.#options.assure?.(signal).catch(() => {});
        await this.#renew(seen, signal);
        await onRenewed(at);
      } catch (error) {
        if (signal.aborted) return;
        log.warn("the node's Lease could not be renewed", { error });
        onFailed();
        pauseMs = pauses.next();
        // The server's Retry-After counts, even with news to tell; nodes that were asked at once come back apart.
        await sleep(clock, retryAfterOf(error) * (1 + random()), signal);
      }
      await this.#rest(pauseMs, seen, signal);
    }
  }

  /** Until the time is over, or another version is seen: all nodes see it at once, so each waits its own moment. */
  async #rest(pauseMs: number, seen: number, signal: AbortSignal): Promise<void> {
    const { clock, seenVersion, toldVersion, random, daemons = () => 0 } = this.#options;
    const untilMs = clock.monotonicMs() + pauseMs;
    for (let left = pauseMs; left > 0; left = untilMs - clock.monotonicMs()) {
      const spread = () => random() * Math.min(daemons() * perNodeMs, longestSpreadMs);
      if (this.#isDue || seenVersion() !== seen) return void (await sleep(clock, Math.min(left, spread()), signal));
      // Where the last word is also the newest, only a new one can change it.
      const isSettled = toldVersion?.() === seen;
      const early = AbortSignal.any([signal, this.#woken.signal]);
      await sleep(clock, isSettled ? left : Math.min(left, lookEveryMs), early);
      if (signal.aborted) return;
    }
  }

  async #renew(seen: number, signal: AbortSignal): Promise<void> {
    const { client, namespace, node } = this.#options;
    const at = { namespace, name: nodeLeaseName(node) };
    const call = { signal, timeoutMs: callMs };
    const patch = (version?: string) => {
      const body = this.#body(seen, version === undefined ? {} : { resourceVersion: version });
      return client.patch(leases, at, { type: "merge", body }, call);
    };
    // Reads what the controller or another history wrote meanwhile. Once compared, a faster controller is no matter.
    const patchRead = async () => {
      const found = await client.get(leases, at, call);
      this.#meet(found);
      this.#compare(found);
      return patch();
    };
    const guard = this.#guard();
    const lease = await (guard === undefined ? patchRead() : patch(guard)).catch((error: unknown) => {
      if (isApiError(error, "conflict")) return patchRead();
      if (!isApiError(error, "not-found")) throw error;
      // The controller may be faster, with the slices for the node.
      return client.create(leases, this.#body(seen, at), call).catch((again: unknown) => {
        if (isApiError(again, "already-exists")) return patch();
        throw again;
      });
    });
    this.#left = { renewedMs: Date.parse(lease.spec?.renewTime ?? ""), version: lease.metadata.resourceVersion };
  }

  /** The version to renew: as it was left, or as the controller has changed it. */
  #guard(): string | undefined {
    const { namespace, node } = this.#options;
    const known = this.#informer.cache.get(`${namespace}/${nodeLeaseName(node)}`);
    const version = known?.metadata.resourceVersion;
    // Officially opaque; every known server counts.
    if (known === undefined || !(Number(version) > Number(this.#left?.version))) return this.#left?.version;
    this.#compare(known);
    return version;
  }

  #meet({ spec }: DeepReadonly<Lease>): void {
    const { identity, onOther } = this.#options;
    const isOthers = (spec?.renewTime ?? "") !== "" && spec?.holderIdentity !== identity;
    if (isOthers && this.#other !== spec?.holderIdentity) onOther();
    if (isOthers) this.#other = spec?.holderIdentity;
  }

  #compare({ metadata, spec }: DeepReadonly<Lease>): void {
    const { clock, identity, onRestore } = this.#options;
    if (this.#left === undefined || spec?.holderIdentity !== identity) return;
    const { renewedMs, version } = this.#left;
    // A clock that was set back proves nothing.
    const isOlder = Date.parse(spec.renewTime ?? "") < renewedMs && renewedMs <= clock.wallMs();
    // The daemon before has noticed it, and nobody has noted that yet.
    const wasTold = version === undefined && readJournalSlices(metadata.annotations?.[journalAnnotation])?.restored;
    if (isOlder || wasTold === true) onRestore();
  }

  #body(seen: number, metadata: KubeObject["metadata"]): Lease {
    const { node, clock, identity, authorityMs, journalText } = this.#options;
    const marks = { [leaseNodeAnnotation]: node, [seenAnnotation]: String(seen), [journalAnnotation]: journalText() };
    // MicroTime: RFC 3339 with six digits.
    const renewTime = new Date(clock.wallMs()).toISOString().replace("Z", "000Z");
    const spec = { holderIdentity: identity, leaseDurationSeconds: Math.ceil(authorityMs / 1000), renewTime };
    return { metadata: { ...metadata, annotations: marks }, spec };
  }
}
