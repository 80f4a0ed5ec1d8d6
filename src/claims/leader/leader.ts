// The leader's work on claims, put together: caches on every replica, and the work under the lease. Pods, nodes,
// reservations, holds, shared pools and definitions are followed elsewhere and handed in.
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import type { Pod, StoredPool } from "../../cluster/resources.ts";
import type { Trusted } from "../../cluster/trusted-namespaces.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import type { Runnable } from "../../kube/process/stages.ts";
import { ClaimCaches } from "./caches.ts";
import { FeatureGate, type GateMode } from "./feature-gate.ts";
import type { ClaimMetrics } from "./metrics.ts";
import { Term } from "./term.ts";

export interface ClaimsOptions extends ReconcilerOptions {
  /** Namespaces whose definitions only administrators write. Default: the system namespace and `default`. */
  readonly trusted?: Trusted;
  /** Networks of the type that OVN-Kubernetes uses are attached by our own daemons. Default: they are its. */
  readonly attachesOvn?: boolean;
  /** Of networks that name none. */
  readonly cooldownMs: number;
  /** End claims also where the owners of very many seem to be gone at once. Default: no. */
  readonly allowMassRelease?: boolean;
  /** Default: on. */
  readonly gate?: GateMode;
  /** Only VMs with the label allow-persistent-ips.k8s.cni.cncf.io=true get claims. Default: no. */
  readonly needsLabel?: boolean;
  /** With the indexes `launcher` and `claim` (src/pools/pod-trim.ts). */
  readonly pods: Informer<Pod>;
  readonly pools: Informer<StoredPool>;
  /** How often a cluster that lacks KubeVirt's kinds or claims is asked again. Default: 30 s. */
  readonly retryMs?: number;
  readonly metrics?: ClaimMetrics;
}

export class ClaimsLeader {
  readonly #options: ClaimsOptions;
  readonly #caches: ClaimCaches;
  readonly #gate: FeatureGate;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    const { client, clock, log, retryMs, gate = "on", needsLabel = false } = options;
    const onError = (error: Error) => log.warn("following claims and virtual machines", { error });
    const common = { client, clock, onError, ...(retryMs !== undefined && { retryMs }) };
    this.#caches = new ClaimCaches(common);
    this.#gate = new FeatureGate({ ...common, mode: gate, needsLabel });
  }

  /** For who shows them something: with the indexes `family`, `network` and others (caches.ts). */
  get claims() {
    return this.#caches.claims;
  }

  /** On every replica; every cluster has these kinds. */
  get informers() {
    return [this.#caches.namespaces] as const;
  }

  /** On every replica; kinds that may come later. Definitions are not among them: their owner follows them. */
  get follows(): readonly Runnable[] {
    const { machines, instances, claims } = this.#caches;
    return [machines.follow, instances.follow, claims.follow, ...this.#gate.follows];
  }

  /** Under the lease. */
  readonly lead: Runnable = {
    name: "claims",
    run: (signal) => new Term(this.#options, this.#caches, this.#gate).run(signal),
  };
}
