// The status of a managed pool: a mirror of holds, and what the parts of the controller say of it. Pure. Never read
// back as truth. `lastUpdate` moves only with the addresses; the same facts give the same status.
import { countOf } from "../../api/fields.ts";
import type { StoredManagedPool } from "../../cluster/resources.ts";
import { timestamp } from "../../kube/clock.ts";
import { isEqual } from "../../kube/conditions.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { type PoolPlan, withheldMarks } from "../rules/pool-plan.ts";
import type { NicHold } from "./nic-hold.ts";
import { type SaidCondition, withConditions } from "./vmnet-conditions.ts";

type Status = NonNullable<StoredManagedPool["status"]>;
type Family = NonNullable<Status["ipv6"]>;

/** About 40 bytes each: 800 KB of the 1.5 MB that one object may have. Of IPv6, about 60 each: 300 KB. */
export const shownMax = { 4: 20_000, 6: 5000 } as const;

export interface FamilyUse {
  /** Held in this pool; what cools is nobody's. */
  readonly used: number;
  /** The lowest of them, in order: at most as many as are shown. */
  readonly shown: readonly NicHold[];
  /** What could be given now. */
  readonly free: bigint;
}

export interface PoolUse {
  readonly ipv4: FamilyUse;
  /** Shown where the pool has IPv6, or had: somebody has an address of it. */
  readonly ipv6: FamilyUse;
}

export interface PoolStatusFacts {
  readonly pool: DeepReadonly<StoredManagedPool>;
  /** Undefined: it cannot be read, or its addresses are not known yet; what is shown stays. */
  readonly use: (PoolUse & { readonly plan: PoolPlan }) | undefined;
  readonly conditions: readonly SaidCondition[];
  /** Absent: nobody says, and what is shown stays. `none`: there is no agent. */
  readonly agentPodRef?: Status["agentPodRef"] | "none";
  readonly nowMs: number;
}

export function statusOfPool({ pool, use, conditions, agentPodRef, nowMs }: PoolStatusFacts): Status {
  const before = (pool as StoredManagedPool).status ?? {};
  const { agentPodRef: shownAgent, ipv6: shownIpv6, ...rest } = before;
  const agent = agentPodRef === undefined ? shownAgent : agentPodRef === "none" ? undefined : agentPodRef;
  const ipv4 = use === undefined ? before.ipv4 : statusOfIpv4(use.plan.ipv4, use.ipv4);
  const ipv6 = use === undefined ? shownIpv6 : statusOfIpv6(use.plan.ipv6, use.ipv6);
  const isChanged = !isEqual(ipv4, before.ipv4) || !isEqual(ipv6, shownIpv6);
  return {
    ...rest,
    ...(agent !== undefined && { agentPodRef: agent }),
    ...(ipv4 !== undefined && { ipv4 }),
    ...(ipv6 !== undefined && { ipv6 }),
    ...(isChanged && { lastUpdate: timestamp(nowMs) }),
    conditions: withConditions(before.conditions, conditions, nowMs) as Status["conditions"],
  };
}

function statusOfIpv4(plan: PoolPlan["ipv4"], use: FamilyUse): NonNullable<Status["ipv4"]> {
  return { ...shownOf(plan, use, shownMax[4]), available: Number(use.free) };
}

/** A subnet of IPv6 has more addresses than a number says exactly: then it is text. */
function statusOfIpv6(plan: PoolPlan["ipv6"], use: FamilyUse): Family | undefined {
  if (plan === undefined && use.used === 0) return undefined;
  return { ...shownOf(plan, use, shownMax[6]), available: countOf(use.free) };
}

function shownOf(plan: PoolPlan["ipv4"] | PoolPlan["ipv6"], { used, shown }: FamilyUse, limit: number) {
  const withheld = plan && withheldMarks(plan, limit - shown.length);
  const allocated: Record<string, string> = Object.fromEntries(withheld?.marks ?? []);
  // An address that was excluded after it was given is its NIC's all the same.
  for (const { address, owner } of shown) allocated[address.toString()] = owner.nic;
  const isCut = withheld?.isCut === true || shown.length < used;
  return { allocated, ...(isCut && { allocatedTruncated: true }), used };
}
