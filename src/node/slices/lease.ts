// The node's one Lease (src/api/slices/node-lease.ts): renewed here, and followed for what the controller writes on it. Promised: a renewal patches the
// daemon's own keys only, once a minute, at once for another version of the sliced ranges, and after a failure with growing pauses.
import {
  journalAnnotation,
  leaseNodeAnnotation,
  type NodeSlices,
  nodeLeaseName,
  readNodeSlices,
  seenAnnotation,
  slicesAnnotation,
} from "../../api/slices/node-lease.ts";
import { leases } from "../../cluster/resources.ts";
import { asError } from "../../kube/abort.ts";
import { Informer } from "../../kube/cache/informer.ts";
import { sleep } from "../../kube/clock.ts";
import { isApiError, retryAfterOf } from "../../kube/errors.ts";
import type { Lease } from "../../kube/lease.ts";
import { Backoff } from "../../kube/queue/backoff.ts";
import type { Moment } from "./authority.ts";
import type { SliceKeeperOptions } from "./keeper.ts";

export interface NodeLeaseOptions extends Pick<
  SliceKeeperOptions,
  "client" | "node" | "clock" | "random" | "moment" | "seenVersion" | "toldVersion" | "daemons" | "assure" | "log"
> {
  readonly namespace: string;
  /** The journal's id. */
  readonly identity: string;
  readonly authorityMs: number;
  /** What the journal has, as the leader is told it. */
  readonly journalText: () => string;
  readonly onRenewed: (at: Moment) => Promise<void>;
  readonly onFailed: (error: Error) => void;
  /** Once the Lease has been heard of, and at every change. */
  readonly onSlices: (slices: NodeSlices) => void;
}

/** 5,000 nodes once a minute are 83 writes a second of 1 KB each: what kubelets' own Leases cost is six times that. */
const renewEveryMs = 60_000;
/** A range that closes waits for every node's word: each second of delay is one without new addresses. */
const lookEveryMs = 1000;
const callMs = 10_000;
/** A renewal costs the API server about 4 ms: as many at once as there are nodes would only wait for each other, and keep the leader waiting. */
const perNodeMs = 4;
const longestSpreadMs = 30_000;
const backoff = { firstMs: 1000, maxMs: 30_000, jitter: 1, resetAfterMs: 120_000 };

export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #informer: Informer<Lease>;
  /** Ends the rest between two renewals. */
  #woken = new AbortController();
  #isDue = false;

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

  /** What the controller has written has been heard, be it nothing. */
  get isHeard(): boolean {
    return this.#informer.hasSynced;
  }

  /** The API server has told something: perhaps another version. */
  look(): void {
    this.#woken.abort();
    this.#woken = new AbortController();
  }

  /** The leader waits for what is to be said. */
  renewSoon(): void {
    this.#isDue = true;
    this.look();
  }

  restored(): void {
    this.#informer.relist();
    this.renewSoon();
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#informer.handle(({ type, object }) => {
      const text = type === "delete" ? undefined : object.metadata.annotations?.[slicesAnnotation];
      this.#options.onSlices(readNodeSlices(text));
    });
    await Promise.all([this.#informer.run(signal), this.#renewing(signal)]);
  }

  async #renewing(signal: AbortSignal): Promise<void> {
    const { clock, random, seenVersion, moment, onRenewed, onFailed, log } = this.#options;
    const pauses = new Backoff(backoff, clock, random);
    while (!signal.aborted) {
      this.#isDue = false;
      const seen = seenVersion();
      const at = moment();
      let pauseMs = renewEveryMs * (0.9 + 0.2 * random());
      try {
        // Where it cannot be told now it is looked at again, and told then.
        await this.#options.assure?.(signal).catch(() => {});
        await this.#renew(seen, signal);
        await onRenewed(at);
      } catch (error) {
        if (signal.aborted) return;
        log.warn("the node's Lease could not be renewed", { error: asError(error) });
        onFailed(asError(error));
        pauseMs = pauses.next();
        // What the server asks for is kept to, also where there is news to tell; nodes that were asked at once do not come back at once.
        await sleep(clock, retryAfterOf(error) * (1 + random()), signal);
      }
      await this.#rest(pauseMs, seen, signal);
    }
  }

  /** Until the time is over, or another version has been seen: all nodes see it at once, so each waits for a moment of its own. */
  async #rest(pauseMs: number, seen: number, signal: AbortSignal): Promise<void> {
    const { clock, seenVersion, toldVersion, random, daemons = () => 0 } = this.#options;
    const untilMs = clock.monotonicMs() + pauseMs;
    for (let left = pauseMs; left > 0; left = untilMs - clock.monotonicMs()) {
      if (this.#isDue || seenVersion() !== seen) {
        const spreadMs = Math.min(daemons() * perNodeMs, longestSpreadMs);
        await sleep(clock, Math.min(left, random() * spreadMs), signal);
        return;
      }
      // Where the last word is also the newest, only another can change it.
      const isSettled = toldVersion?.() === seen;
      const early = AbortSignal.any([signal, this.#woken.signal]);
      await sleep(clock, isSettled ? left : Math.min(left, lookEveryMs), early);
      if (signal.aborted) return;
    }
  }

  async #renew(seen: number, signal: AbortSignal): Promise<void> {
    const { client, namespace, node, clock, identity, authorityMs, journalText } = this.#options;
    const name = nodeLeaseName(node);
    const marks = { [leaseNodeAnnotation]: node, [seenAnnotation]: String(seen), [journalAnnotation]: journalText() };
    const body = {
      metadata: { annotations: marks },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(authorityMs / 1000),
        // MicroTime: RFC 3339 with six digits.
        renewTime: new Date(clock.wallMs()).toISOString().replace("Z", "000Z"),
      },
    };
    const call = { signal, timeoutMs: callMs };
    const patch = () => client.patch(leases, { namespace, name }, { type: "merge", body }, call);
    try {
      await patch();
    } catch (error) {
      if (!isApiError(error, "not-found")) throw error;
      try {
        await client.create(leases, { ...body, metadata: { ...body.metadata, namespace, name } }, call);
      } catch (again) {
        // The controller was faster, with the slices that the node is to have.
        if (!isApiError(again, "already-exists")) throw again;
        await patch();
      }
    }
  }
}
