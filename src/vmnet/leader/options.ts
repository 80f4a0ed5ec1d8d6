// What the reconcilers of managed DHCP are given, and the seam to whoever runs agents.
import type { OptionalInformer } from "../../cluster/optional-informer.ts";
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import type { StoredClaim, StoredManagedPool } from "../../cluster/resources.ts";
import type { DeepReadonly, ObjectKey } from "../../kube/meta.ts";
import type { Random } from "../../net/draw.ts";
import type { SaidCondition } from "../plan/vmnet-conditions.ts";
import type { Trusted } from "../rules/examine-pool.ts";
import type { VmnetMetrics } from "./metrics.ts";

type Pool = DeepReadonly<StoredManagedPool>;

export interface VmnetOptions extends Pick<
  ReconcilerOptions,
  "client" | "clock" | "log" | "systemNamespace" | "definitions" | "events" | "kubeMetrics"
> {
  /** Namespaces whose networks VMs of others may use. Default: the system namespace and `default`. */
  readonly trusted?: Trusted;
  /** What else is done for a pool: its agents, the labels of its definition. */
  readonly poolParts?: readonly PoolPart[];
  /** Followed by src/claims, with the indexes `family` and `network`. Absent: no claim is shown anything. */
  readonly claims?: OptionalInformer<StoredClaim>;
  /** Free also where the network configs of very many holds seem to be gone at once. Default: no. */
  readonly allowMassRelease?: boolean;
  /** How often a cluster that lacks the kinds is asked again. Default: 30 s. */
  readonly retryMs?: number;
  readonly random?: Random;
  readonly metrics?: VmnetMetrics;
  /** Times, shorter in tests. */
  readonly pace?: Partial<VmnetPace>;
}

export interface VmnetPace {
  /** A pool's status is written at most so often. */
  readonly mirrorMs: number;
  /** How long a definition must be missing before its pool follows it: it may be applied anew. */
  readonly networkGoneMs: number;
  /** Between two looks for holds whose network config is gone. */
  readonly straysMs: number;
  /** How long such a hold must have been seen so. */
  readonly strayAfterMs: number;
  /** Between two looks for addresses that have cooled. */
  readonly sweepMs: number;
}

export const defaultPace: VmnetPace = {
  mirrorMs: 1000,
  networkGoneMs: 30_000,
  straysMs: 20_000,
  strayAfterMs: 60_000,
  sweepMs: 1000,
};

/** One part of the work on pools beside that of addresses. The status has one writer, which asks every part. */
interface PoolPart {
  /** Told once per term: `wake` is called with namespace/name of a pool of which there is something new to say. */
  follow(wake: (pool: ObjectKey) => void, signal: AbortSignal): void;
  /** Level-triggered: brings about what the pool needs. Called whenever the pool changed, before `say`. */
  tend?(pool: Pool, signal: AbortSignal): Promise<void>;
  say(pool: Pool): PoolWord;
  /** The pool is being deleted and nobody uses it. False: not done yet; asked again when it wakes the pool. */
  finish?(pool: Pool, signal: AbortSignal): Promise<boolean>;
}

interface PoolWord {
  /** Of types that are its own: AgentReady. */
  readonly conditions?: readonly SaidCondition[];
  /** `none`: there is no agent. */
  readonly agentPodRef?: NonNullable<NonNullable<StoredManagedPool["status"]>["agentPodRef"]> | "none";
}
