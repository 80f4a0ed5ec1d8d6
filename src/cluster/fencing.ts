// Whether a node counts as off: the one rule by which slices, shared holds and the users of claims are taken from it
// (docs/node-slices.md, "Fencing"). Pure. A node is off when it has been silent for long enough AND its Node is
// deleted, or tainted out-of-service, or an operator says so. A taint or a deletion is the word of somebody who is not
// there; a renewed Lease, or a kubelet that reports, is the machine itself. Clocks of machines are never compared
// (node-presence.ts). Only the quarantine, hours, goes by controllers' wall clocks too: it must outlive a new leader.
import { holdfastGroup } from "../api/kind.ts";
import {
  journalAnnotation,
  leaseNodeAnnotation,
  nodeLeaseName,
  seenAnnotation,
  slicesAnnotation,
} from "../api/slices/node-lease.ts";
import type { Lease } from "../kube/lease.ts";
import { type DeepReadonly, picked } from "../kube/meta.ts";
import type { Node } from "./resources.ts";

/** `unreachable`: nobody can say that nothing of it runs on. `fenced`: somebody has, and it is silent. */
export type Standing = "ready" | "unreachable" | "fenced";

/** Renewed every minute: two may be lost. Longer than shared writes go on after one: src/node/slices/agent.test.ts. */
export const freshMs = 240_000;
/** On a node's Lease: `RENEWTIME TIME`: since when, by the leader's clock, its Node is gone and nothing renews it. */
export const goneSinceAnnotation = `${holdfastGroup}/gone-since`;
/** On a node's Lease: `RENEWTIME WHO at TIME`: who said that the machine is off. A renewal takes the word back. */
export const offAnnotation = `${holdfastGroup}/off`;

const outOfService = "node.kubernetes.io/out-of-service";
/** Of a daemon whose Lease does not say it. */
const authorityMs = 12 * 3_600_000;

export interface FenceRules {
  /** So long nothing is heard of a node before anybody's word about it counts. */
  readonly silentMs: number;
  /** How long a node keeps its slices after its Node's deletion alone; at least twice its daemon's authority. */
  readonly quarantineMs: number;
  /** A Node is deleted only when its machine is gone. */
  readonly deletionFences: boolean;
}

/** Five minutes: a daemon renews every minute, and one whose call has just failed tries again within 40 s. */
export const defaultRules: FenceRules = { silentMs: 300_000, quarantineMs: 24 * 3_600_000, deletionFences: false };

type LeaseLike = DeepReadonly<Pick<Lease, "metadata" | "spec">>;

type NodeLike = DeepReadonly<Pick<Node, "spec" | "status">>;

export interface NodeSigns {
  /** Undefined: it is deleted, or never was. */
  readonly node: NodeLike | undefined;
  readonly lease: LeaseLike | undefined;
  readonly silentMs: number;
  /** For how long it has been known that its Node, which was there, is deleted; undefined: nobody saw that. */
  readonly deletedMs?: number | undefined;
  /** There is no Node at all: not a cluster, but a machine of its own, whose daemon is its node. */
  readonly isAlone: boolean;
  readonly wallMs: number;
}

/** In a sentence why it hands out nothing more, so that its slices may go to others; undefined: it may. */
export function fencedWhy(signs: NodeSigns, rules: FenceRules): string | undefined {
  const { node, lease, silentMs, wallMs } = signs;
  if (isReady(node) || silentMs < rules.silentMs) return undefined;
  const word = offBy(lease);
  if (word !== undefined) return `it was declared off by ${word}`;
  const isOut = node?.spec?.taints?.some(({ key }) => key === outOfService) === true;
  if (node !== undefined) return isOut ? `its Node has the taint ${outOfService}` : undefined;
  if (rules.deletionFences) return "its Node is deleted, and --node-deletion-fences says that its machine is gone";
  const goneMs = Math.max(silentMs, wallMs - (goneSinceMs(lease) ?? Number.POSITIVE_INFINITY));
  const lastsMs = 1000 * (lease?.spec?.leaseDurationSeconds ?? authorityMs / 1000);
  if (goneMs < Math.max(rules.quarantineMs, 2 * lastsMs)) return undefined;
  return `its Node is gone, and nothing was heard of it for ${Math.floor(goneMs / 3_600_000)} hours`;
}

/** For holds of shared ranges and users of claims: about its pods, not about what it may still hand out. */
export function standingOf(signs: NodeSigns, rules: FenceRules): Standing {
  const { node, lease, silentMs, isAlone } = signs;
  if (isReady(node) || (isAlone && lease !== undefined && silentMs < freshMs)) return "ready";
  // Its Node was seen to be deleted: Kubernetes ends its pods by that too, and starts their successors. A machine that
  // never had one is not meant.
  const isGone = node === undefined && Math.min(signs.deletedMs ?? 0, silentMs) >= rules.silentMs;
  return isGone || fencedWhy(signs, rules) !== undefined ? "fenced" : "unreachable";
}

/** For a single look, with only the leader's note, by another machine's clock: it waits for the whole quarantine. */
export function standingByNote(signs: Omit<NodeSigns, "silentMs">): Standing {
  const silentMs = signs.wallMs - (goneSinceMs(signs.lease) ?? signs.wallMs);
  return standingOf({ ...signs, silentMs }, { ...defaultRules, silentMs: defaultRules.quarantineMs });
}

/** Its kubelet reports, also under a taint left from before: pods that tolerate everything run there. */
export function isReady(node: NodeLike | undefined): boolean {
  return node?.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
}

/** The node of a Lease of ours; undefined: it is another's. */
export function nodeOfLease({ metadata }: Pick<LeaseLike, "metadata">): string | undefined {
  const node = metadata.annotations?.[leaseNodeAnnotation];
  return node !== undefined && metadata.name === nodeLeaseName(node) ? node : undefined;
}

export function renewTimeOf(lease: LeaseLike | undefined): string {
  return lease?.spec?.renewTime ?? "";
}

/** Undefined: nobody has noted it, or the Lease was renewed since. */
export function goneSinceMs(lease: LeaseLike | undefined): number | undefined {
  const ms = Date.parse(noted(lease, goneSinceAnnotation) ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

/** Who said that the machine is off, and when; undefined: nobody, or the Lease was renewed since. */
export function offBy(lease: LeaseLike | undefined): string | undefined {
  return noted(lease, offAnnotation);
}

/** What is said of a node that is silent, for as long as it is. */
export function noteOn(lease: LeaseLike | undefined, words: string): string {
  return `${renewTimeOf(lease) || "never"} ${words}`;
}

function noted(lease: LeaseLike | undefined, annotation: string): string | undefined {
  const text = lease?.metadata.annotations?.[annotation] ?? "";
  const start = noteOn(lease, "");
  return text.startsWith(start) ? text.slice(start.length) : undefined;
}

const ofDaemon = [leaseNodeAnnotation, seenAnnotation, journalAnnotation];
const keptAnnotations = [...ofDaemon, slicesAnnotation, goneSinceAnnotation, offAnnotation];

export function trimLease({ metadata, spec, ...object }: Lease): Lease {
  const kept = picked(metadata, "name", "namespace", "uid", "resourceVersion", "creationTimestamp");
  return {
    ...picked(object, "apiVersion", "kind"),
    metadata: { ...kept, annotations: picked(metadata.annotations, ...keptAnnotations) },
    spec: picked(spec, "holderIdentity", "renewTime", "leaseDurationSeconds"),
  };
}
