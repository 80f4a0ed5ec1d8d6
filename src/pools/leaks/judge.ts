// Whether an address that is held is still somebody's: the heart of leak collection. Pure. Promised: nothing is freed
// whose pod is alive, whatever the order in which facts arrive; nothing of a node that cannot be reached, unless it is
// fenced (src/cluster/fencing.ts); nothing on one look: `free` needs an earlier observation of the same hold,
// unchanged, long enough ago. Not promised: that the facts are fresh. So whoever frees asks again with facts read just
// before, and guards the release by the hold's version (collector.ts).
import { mayLackMirror } from "../../api/holds/pod-uid.ts";
import type { Standing } from "../../cluster/fencing.ts";
import { hasEnded } from "../../cluster/resources.ts";
import type { HoldNote } from "../../ipam/ledger.ts";
import type { PodOwner } from "../../ipam/owner.ts";
import { type PoolHold, isNameless } from "../pool-hold.ts";

export interface PodFacts {
  readonly uid: string;
  readonly node: string;
  readonly phase: string;
  /** It has a deletionTimestamp: its containers may still run. */
  readonly isTerminating: boolean;
  /** Of the kubelet's copy of a pod that it started from a file: the UID under which the kubelet knows it. */
  readonly mirrorOf?: string;
}

interface StatefulSetFacts {
  /** spec.ordinals.start */
  readonly start: number;
  readonly replicas: number;
  readonly isTerminating: boolean;
}

/** What is known of the things that an address's life depends on. Absence is a fact too: `undefined`. */
export interface Facts {
  /** The pod of the owner's namespace and name, whatever its UID; undefined: there is none. */
  readonly pod: PodFacts | undefined;
  readonly nodeState: (name: string) => Standing;
  /** Some node that is unreachable and may have had the pod, if there is any: for holds that name no node. */
  readonly unreachableNode: string | undefined;
  /** That of the keeper; undefined: it does not exist, or there is no keeper. */
  readonly statefulSet: StatefulSetFacts | undefined;
  /** Where the pod was when it was last seen, for holds that do not say it; empty: never seen. */
  readonly lastNode: string;
  /** The owner has another hold in the same range, and the pod's network-status shows that one and not this. */
  readonly isSuperseded: boolean;
}

export type LeakReason =
  | "pod-gone"
  | "pod-replaced"
  | "pod-completed"
  | "node-gone"
  | "superseded"
  | "stateful-set-gone"
  | "scaled-down";

interface Suspicion {
  readonly reason: LeakReason;
  /** A sentence without a full stop, for events and logs. */
  readonly why: string;
  /** How long it must have been suspected before it is freed. */
  readonly afterMs: number;
}

/** A sentence: why it is no leak. */
type Suspected = Suspicion | string;

export type LeakJudgement =
  | { readonly outcome: "keep"; readonly why: string }
  | ({ readonly outcome: "suspect" | "free" } & Suspicion);

/** The first time that this very hold was suspected, without a break since. */
export interface Observation {
  readonly version: string;
  readonly firstMs: number;
}

export interface JudgeLimits {
  /** Two observations are at least so far apart. */
  readonly observeMs: number;
  /** A StatefulSet that was deleted or scaled down may come back: so long its pods' addresses wait for it. */
  readonly keeperGraceMs: number;
  /** A pod object that stays behind on a node that is gone. Kubernetes' own garbage collector removes it sooner. */
  readonly strandedGraceMs: number;
  /** How long a network-status may show what the sandbox before had: kubelets give a new one four minutes. */
  readonly supersededMs: number;
}

export const defaultLimits: JudgeLimits = {
  observeMs: 30_000,
  keeperGraceMs: 300_000,
  strandedGraceMs: 300_000,
  supersededMs: 300_000,
};

export function judge(
  held: PoolHold,
  facts: Facts,
  earlier: Observation | undefined,
  nowMs: number,
  limits: JudgeLimits = defaultLimits,
): LeakJudgement {
  const suspicion = suspect(held, facts, limits);
  if (typeof suspicion === "string") return { outcome: "keep", why: suspicion };
  const isOld = earlier?.version === held.hold.version && nowMs - earlier.firstMs >= suspicion.afterMs;
  return { outcome: isOld ? "free" : "suspect", ...suspicion };
}

function suspect(held: PoolHold, facts: Facts, limits: JudgeLimits): Suspected {
  const { owner, note } = held.hold;
  if (owner.kind !== "pod") return `a ${owner.kind} has a reconciler of its own`;
  if (held.cooling !== undefined) return "it is nobody's already, and cools down";
  if (isNameless(held)) return "it names no pod, so that nobody can be asked whether it is in use";
  if (note?.keeper !== undefined) return suspectKept(note.keeper, held, owner, facts, limits);
  if (owner.uid === "" && held.node !== "" && facts.nodeState(held.node) !== "fenced")
    return "its runtime gave no pod UID: the API need not know such a pod";
  const { pod } = facts;
  if (pod !== undefined && isOwners(pod, owner)) return suspectPresent(held, pod, owner, facts, limits);
  const why = pod === undefined ? `pod ${podOf(owner)} does not exist` : `pod ${podOf(owner)} is another one now`;
  const node = held.node === "" ? facts.lastNode : held.node;
  if (mayLackMirror(pod, owner) && (node === "" || facts.nodeState(node) === "ready"))
    return `pod ${podOf(owner)} is one of the kubelet's own, which may run without the API knowing it`;
  const isOff = node !== "" && facts.nodeState(node) !== "ready";
  const kept = keptByNode(node, facts);
  if (kept !== undefined) return kept;
  const reason = pod === undefined ? "pod-gone" : "pod-replaced";
  const afterMs = isOff ? limits.observeMs : Math.max(limits.observeMs, vouchedMs(note));
  return { reason, why: isOff ? `${why}, and node ${node} is off` : why, afterMs };
}

/** A day: nobody vouches for longer than a daemon may be away. */
const vouchedMaxMs = 86_400_000;

/** A restored API server may not know a running pod; its daemon renews the hold (src/node/holds/reassert.ts). */
function vouchedMs(note: HoldNote | undefined): number {
  const seconds = Number.parseInt(note?.vouched ?? "0", 10);
  return Math.min(Number.isNaN(seconds) ? 0 : 1000 * seconds, vouchedMaxMs);
}

/** Where no UID was recorded, the name is all there is: a pod of that name is taken for the owner. */
export function isOwners(pod: Pick<PodFacts, "uid" | "mirrorOf">, owner: PodOwner): boolean {
  return owner.uid === "" || pod.uid === owner.uid || pod.mirrorOf === owner.uid;
}

function suspectPresent(held: PoolHold, pod: PodFacts, owner: PodOwner, facts: Facts, limits: JudgeLimits): Suspected {
  const node = pod.node === "" ? held.node : pod.node;
  const state = node === "" ? "ready" : facts.nodeState(node);
  if (state === "unreachable") return unreachable(node);
  if (state === "fenced") {
    // Nothing runs there any more. The pod object itself may outlive that for a while.
    const afterMs = pod.isTerminating || hasEnded({ status: pod }) ? limits.observeMs : limits.strandedGraceMs;
    return { reason: "node-gone", why: `node ${node} of pod ${podOf(owner)} is off`, afterMs };
  }
  if (hasEnded({ status: pod }))
    return { reason: "pod-completed", why: `pod ${podOf(owner)} has ended (${pod.phase})`, afterMs: limits.observeMs };
  if (pod.isTerminating) return `pod ${podOf(owner)} is terminating, and may still use it`;
  if (!facts.isSuperseded) return `pod ${podOf(owner)} exists`;
  const why = `pod ${podOf(owner)} uses another address on ${owner.interface}, by its network-status`;
  // The status is written when a new sandbox has all interfaces; until then it shows what the one before had.
  return { reason: "superseded", why, afterMs: Math.max(limits.supersededMs, limits.observeMs) };
}

/** A sentence where the node keeps the address although the pod object is gone: its containers may run on. */
function keptByNode(node: string, facts: Facts): string | undefined {
  if (node !== "") return facts.nodeState(node) === "unreachable" ? unreachable(node) : undefined;
  if (facts.unreachableNode === undefined) return undefined;
  return `it is not known on which node its pod was, and node ${facts.unreachableNode} is unreachable`;
}

function unreachable(node: string): string {
  return (
    `node ${node} is unreachable, and its containers may run on: if its machine is off, say so with ` +
    `holdfast slices release ${node}, or taint it out-of-service; it counts after five minutes of silence`
  );
}

/** The hold outlives its pods: the StatefulSet decides, and its pods while there are any. */
function suspectKept(keeper: string, held: PoolHold, owner: PodOwner, facts: Facts, limits: JudgeLimits): Suspected {
  const [kind, name] = [keeper.slice(0, keeper.indexOf("/")), keeper.slice(keeper.indexOf("/") + 1)];
  if (kind !== "statefulset" || name === "")
    return `its keeper ${JSON.stringify(keeper)} is of no kind that is known here`;
  const ordinal = ordinalOf(name, owner.name);
  if (ordinal === undefined) return `pod ${podOf(owner)} has no ordinal of ${keeper}`;
  const { pod, statefulSet } = facts;
  if (pod !== undefined && !hasEnded({ status: pod })) return `pod ${podOf(owner)} exists`;
  const { start = 0, replicas = 0, isTerminating = false } = statefulSet ?? {};
  if (isTerminating || (ordinal >= start && ordinal < start + replicas)) return `${keeper} keeps it`;
  const node = pod?.node || held.node || facts.lastNode;
  const kept = keptByNode(node, facts);
  if (kept !== undefined) return kept;
  const isOff = node !== "" && facts.nodeState(node) !== "ready";
  const afterMs = Math.max(limits.keeperGraceMs, limits.observeMs, isOff ? 0 : vouchedMs(held.hold.note));
  if (statefulSet === undefined)
    return { reason: "stateful-set-gone", why: `${keeper} of ${owner.namespace} does not exist`, afterMs };
  return { reason: "scaled-down", why: `${keeper} of ${owner.namespace} has no pod ${owner.name} any more`, afterMs };
}

/** `web-12` of `web` is 12. */
function ordinalOf(statefulSet: string, pod: string): number | undefined {
  if (!pod.startsWith(`${statefulSet}-`)) return undefined;
  const text = pod.slice(statefulSet.length + 1);
  return /^(0|[1-9]\d{0,9})$/.test(text) ? Number(text) : undefined;
}

const podOf = ({ namespace, name }: PodOwner) => `${namespace}/${name}`;
