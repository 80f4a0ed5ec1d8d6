// The status of an IPAMClaim, from what is held: addresses, the pod that uses them, the condition IPsAllocated. Pure.
// The status is information; the hold is the truth. It is written by the daemon right after the commit, and by the
// leader where that was lost: both make it here, so that neither changes what the other wrote.
import { allocatedCondition, allocationReasons } from "./claim-marks.ts";
import type { IpamClaim } from "./ipam-claim.ts";

export type ClaimStatus = NonNullable<IpamClaim["status"]>;
type Condition = NonNullable<ClaimStatus["conditions"]>[number];
export type AllocationReason = (typeof allocationReasons)[keyof typeof allocationReasons];

export interface ClaimCondition {
  readonly reason: AllocationReason;
  /** A sentence, for people. */
  readonly message: string;
}

export interface StatusInput {
  /** What the claim says now. */
  readonly before: ClaimStatus | undefined;
  /** What is held, each with the length of its network: 10.0.0.7/24. */
  readonly ips: readonly string[];
  /** The pod that uses them now; undefined: none does. */
  readonly pod: string | undefined;
  readonly condition: ClaimCondition;
  readonly nowMs: number;
}

/** Reasons that say something about a pod that was refused, and nothing against the addresses that the claim has. */
const besides: ReadonlySet<AllocationReason> = new Set([allocationReasons.inUse, allocationReasons.macConflict]);

/** Equal to `before` where nothing changes. What others put there stays. */
export function claimStatus({ before, ips, pod, condition, nowMs }: StatusInput): ClaimStatus {
  const { ownerPod: _, conditions = [], ...rest } = before ?? {};
  const isHeld = condition.reason === allocationReasons.done || (ips.length > 0 && besides.has(condition.reason));
  return {
    ...rest,
    ips: [...ips],
    ...(pod !== undefined && pod !== "" && { ownerPod: { name: pod } }),
    conditions: withAllocated(conditions, { ...condition, status: isHeld ? "True" : "False" }, nowMs),
  };
}

/** The time is that of the last change of `status`, by the API conventions; metav1.Time has whole seconds. */
function withAllocated(
  conditions: readonly Condition[],
  { status, reason, message }: ClaimCondition & { readonly status: "True" | "False" },
  nowMs: number,
): Condition[] {
  const type = allocatedCondition;
  const before = conditions.find((each) => each.type === type);
  const standing = before?.status === status ? before.lastTransitionTime : undefined;
  const lastTransitionTime = standing ?? new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  const after: Condition = { ...before, type, status, reason, message, lastTransitionTime };
  if (before === undefined) return [...conditions, after];
  return conditions.map((each) => (each === before ? after : each));
}

/** The sentence of a claim whose addresses are held. */
export function allocatedWords(ips: readonly string[]): string {
  return `${ips.join(" and ")} ${ips.length === 1 ? "is" : "are"} held for this claim.`;
}
