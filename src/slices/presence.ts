// Which nodes live, are leaving, are gone or are fenced (docs/decisions/0013). A Lease counts as renewed when this process saw its
// renewTime change: clocks of machines are never compared. Only the quarantine, which is hours, goes by the wall clock of controllers, since it must
// outlive a change of leader: `gone since` is noted on the Lease.
import { holdfastGroup } from "../api/kind.ts";
import { leaseNodeAnnotation, nodeLeaseName } from "../api/node-lease.ts";
import type { Lease } from "../kube/lease.ts";
import type { DeepReadonly } from "../kube/meta.ts";
import type { Node } from "../ledger/resources.ts";

/** A daemon renews once a minute: two may be lost. */
export const freshMs = 180_000;
/** Annotation on a node's Lease: `RENEWTIME TIME`: since when, by the leader's clock, its Node is gone and nothing renews it. */
export const goneSinceAnnotation = `${holdfastGroup}/gone-since`;

const outOfService = "node.kubernetes.io/out-of-service";

/** The node of a Lease of ours; undefined: it is another's. */
export function nodeOfLease({ metadata }: DeepReadonly<Lease>): string | undefined {
  const node = metadata.annotations?.[leaseNodeAnnotation];
  return node !== undefined && metadata.name === nodeLeaseName(node) ? node : undefined;
}

/** When this process last saw each node's Lease change. */
export class Renewals {
  /** Node -> renewTime as it stands on the Lease, and when that was first seen. */
  readonly #seen = new Map<string, { readonly renewTime: string; readonly ms: number }>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** The first sight counts as a renewal: what was before is not known. */
  saw(node: string, renewTime: string): void {
    if (this.#seen.get(node)?.renewTime !== renewTime) this.#seen.set(node, { renewTime, ms: this.#monotonicMs() });
  }

  forget(node: string): void {
    this.#seen.delete(node);
  }

  /** A Lease that no daemon has ever renewed is not fresh. */
  isFresh(node: string): boolean {
    const seen = this.#seen.get(node);
    return seen !== undefined && seen.renewTime !== "" && this.#monotonicMs() - seen.ms < freshMs;
  }
}

export function renewTimeOf(lease: DeepReadonly<Lease> | undefined): string {
  return lease?.spec?.renewTime ?? "";
}

/** Undefined: nobody has noted it, or the Lease was renewed since. */
export function goneSinceMs(lease: DeepReadonly<Lease> | undefined): number | undefined {
  const [renewTime = "", since = ""] = (lease?.metadata.annotations?.[goneSinceAnnotation] ?? "").split(" ");
  const ms = Date.parse(since);
  return Number.isNaN(ms) || renewTime !== (renewTimeOf(lease) || "never") ? undefined : ms;
}

export function goneSinceNote(lease: DeepReadonly<Lease> | undefined, wallMs: number): string {
  return `${renewTimeOf(lease) || "never"} ${new Date(wallMs).toISOString()}`;
}

export interface FenceRules {
  readonly quarantineMs: number;
  /** A Node is deleted only when its machine is gone. */
  readonly deletionFences: boolean;
}

export interface NodeSigns {
  readonly node: DeepReadonly<Node> | undefined;
  readonly lease: DeepReadonly<Lease> | undefined;
  readonly isFresh: boolean;
  /** There is no Node at all: not a cluster, but a machine of its own (`holdfast up`), whose daemon is its node. */
  readonly isAlone?: boolean;
  readonly wallMs: number;
}

export interface NodeState {
  readonly isPresent: boolean;
  readonly isLeaving: boolean;
  /** In a sentence why its slices are not its own any more. */
  readonly fenced?: string;
}

export function nodeState({ node, lease, isFresh, isAlone = false, wallMs }: NodeSigns, rules: FenceRules): NodeState {
  const fenced = node === undefined ? fencedGone(lease, isFresh, wallMs, rules) : fencedByTaint(node);
  return {
    isPresent: node !== undefined || isFresh,
    isLeaving: node === undefined && isFresh && !isAlone,
    ...(fenced !== undefined && { fenced }),
  };
}

/** Kubernetes' own word of an operator that the machine is off; with a Ready node it is a mistake. */
function fencedByTaint({ spec, status }: DeepReadonly<Node>): string | undefined {
  const isTainted = spec?.taints?.some(({ key }) => key === outOfService) ?? false;
  const isReady = status?.conditions?.some(({ type, status: each }) => type === "Ready" && each === "True") ?? false;
  return isTainted && !isReady ? `the Node has the taint ${outOfService} and is not Ready` : undefined;
}

function fencedGone(
  lease: DeepReadonly<Lease> | undefined,
  isFresh: boolean,
  wallMs: number,
  { quarantineMs, deletionFences }: FenceRules,
): string | undefined {
  // A daemon that renews is proof that the machine is not gone, whatever the cloud says.
  if (isFresh) return undefined;
  if (deletionFences) return "the Node is deleted, and --node-deletion-fences says that its machine is gone";
  const since = goneSinceMs(lease);
  if (since === undefined) return undefined;
  // A daemon may hand out for as long as its authority lasts: never less than twice that.
  const authorityMs = 1000 * (lease?.spec?.leaseDurationSeconds ?? 0);
  const waitMs = Math.max(quarantineMs, 2 * authorityMs);
  if (wallMs - since < waitMs) return undefined;
  return `the Node is gone and its Lease was not renewed for ${Math.floor((wallMs - since) / 3_600_000)} hours`;
}
