// The status of a managed pool: a mirror of holds, and what the parts of the controller say of it. Pure. Never read
// back as truth. `lastUpdate` moves only with the addresses; the same facts give the same status.
import type { StoredManagedPool } from "../../cluster/resources.ts";
import { timestamp } from "../../kube/clock.ts";
import { isEqual } from "../../kube/conditions.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { type PoolPlan, withheldMarks } from "../rules/pool-plan.ts";
import { byAddress, type NicHold } from "./nic-hold.ts";
import { type SaidCondition, withConditions } from "./vmnet-conditions.ts";

type Status = NonNullable<StoredManagedPool["status"]>;
type Family = NonNullable<Status["ipv4"]>;

/** About 40 bytes each: 800 KB of the 1.5 MB that one object may have. */
const allocatedMax = 20_000;

export interface PoolUse {
  /** Held in this pool; what cools is nobody's. */
  readonly holds: readonly NicHold[];
  /** What could be given now. */
  readonly free: bigint;
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
  const { agentPodRef: shownAgent, ...rest } = before;
  const agent = agentPodRef === undefined ? shownAgent : agentPodRef === "none" ? undefined : agentPodRef;
  const ipv4 = use === undefined ? before.ipv4 : familyOf(use.plan, use);
  const isChanged = !isEqual(ipv4, before.ipv4);
  return {
    ...rest,
    ...(agent !== undefined && { agentPodRef: agent }),
    ...(ipv4 !== undefined && { ipv4 }),
    ...(isChanged && { lastUpdate: timestamp(nowMs) }),
    conditions: withConditions(before.conditions, conditions, nowMs) as Status["conditions"],
  };
}

function familyOf(plan: PoolPlan, { holds, free }: PoolUse): Family {
  const shown = holds.toSorted(byAddress).slice(0, allocatedMax);
  const { marks, isCut } = withheldMarks(plan.ipv4, allocatedMax - shown.length);
  const allocated: Record<string, string> = Object.fromEntries(marks);
  // An address that was excluded after it was given is its NIC's all the same.
  for (const { address, owner } of shown) allocated[address.toString()] = owner.nic;
  return {
    allocated,
    ...((isCut || shown.length < holds.length) && { allocatedTruncated: true }),
    used: holds.length,
    available: Number(free),
  };
}
