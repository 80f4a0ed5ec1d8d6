// A pool's status: its ends, its totals, and conditions that say what is not as it should be. Pure.
import { countOf } from "../../api/fields.ts";
import type { IPPool } from "../../api/pools/ip-pool.ts";
import { usableOf } from "../../ipam/definition.ts";
import { type Condition, withCondition } from "../../kube/conditions.ts";
import { counted } from "../../net/counted.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import type { PoolRange } from "../membership.ts";
import type { PoolHold } from "../pool-hold.ts";
import type { MirrorPlan } from "./mirror.ts";

export interface PoolSituation {
  readonly pool: IPPool;
  readonly range: PoolRange;
  readonly held: readonly PoolHold[];
  readonly plan: MirrorPlan;
  /** What definitions hand out of it; undefined: all of it. */
  readonly useful?: IntervalSet | undefined;
  readonly coexistence: boolean;
  readonly isAdopted: boolean;
  /** In a sentence why leak collection stands still; undefined: it runs. */
  readonly leaksHeldBack: string | undefined;
}

export interface PoolTotals {
  readonly total: bigint;
  readonly used: bigint;
  readonly free: bigint;
}

type Status = NonNullable<IPPool["status"]>;

/** Used: what is held, and what an entry without a hold may hold. */
export function totalsOf(of: Pick<PoolSituation, "pool" | "range" | "held" | "plan" | "useful">): PoolTotals {
  const { held, plan, useful = IntervalSet.of([usableIn(of)]) } = of;
  const total = useful.size;
  const inside = held.filter(({ hold }) => useful.has(hold.address)).length;
  const taken = BigInt(inside + plan.foreign.length);
  return { total, used: BigInt(held.length + plan.foreign.length), free: taken > total ? 0n : total - taken };
}

function usableIn({ pool, range }: Pick<PoolSituation, "pool" | "range">) {
  return usableOf({ prefix: range.range.prefix, l3: pool.spec.enable_l3 === true });
}

/** The whole status as it should be; fields of others survive. */
export function statusOf(situation: PoolSituation, nowMs: number): Status {
  const { pool } = situation;
  const { first, last } = usableIn(situation);
  const { total, used, free } = totalsOf(situation);
  let conditions = (pool.status?.conditions ?? []) as readonly Condition[];
  for (const condition of [ready(situation), mirrored(situation), collecting(situation)])
    conditions = withCondition(conditions, condition, nowMs);
  return {
    ...pool.status,
    firstIP: first.toString(),
    lastIP: last.toString(),
    totalIPs: countOf(total),
    usedIPs: countOf(used),
    freeIPs: countOf(free),
    conditions: conditions.map((each) => ({ ...each })),
  };
}

/** What they say in words may differ: it has counts in it. */
export function hasSameConditions(a: IPPool["status"], b: IPPool["status"]): boolean {
  const textOf = (status: IPPool["status"]) =>
    JSON.stringify(status?.conditions?.map(({ type, status: is, reason }) => [type, is, reason]));
  return textOf(a) === textOf(b);
}

type Told = Omit<Condition, "lastTransitionTime">;

function ready({ plan, coexistence, isAdopted }: PoolSituation): Told {
  const type = "Ready";
  if (coexistence) {
    const message = "whereabouts is active in this cluster: every address is also entered in spec.allocations.";
    return { type, status: "True", reason: "Coexisting", message };
  }
  if (isAdopted && plan.foreign.length === 0) {
    return { type, status: "True", reason: "Adopted", message: "Every entry has its hold." };
  }
  const message = `${counted(plan.foreign.length, "entry has", "entries have")} no hold yet; nothing is handed out before they have.`;
  return { type, status: "False", reason: "NotAdopted", message };
}

function mirrored({ plan, held }: PoolSituation): Told {
  const type = "Mirrored";
  if (plan.contested.length > 0) {
    const keys = plan.contested.slice(0, 5).join(", ");
    const message = `The entries ${keys} name other owners than the holds of these addresses: holdfast check says which.`;
    return { type, status: "False", reason: "Contested", message };
  }
  if (plan.unshown === 0)
    return { type, status: "True", reason: "Complete", message: "spec.allocations shows every hold." };
  const message =
    `spec.allocations shows ${held.length - plan.unshown} of ${counted(held.length, "hold")}; the totals here count all. ` +
    "All of them: kubectl get overlappingrangeipreservations, or holds.";
  return { type, status: "False", reason: "TooMany", message };
}

function collecting({ leaksHeldBack }: PoolSituation): Told {
  const type = "LeakCollection";
  if (leaksHeldBack === undefined) return { type, status: "True", reason: "Running", message: "Leaks are collected." };
  return { type, status: "False", reason: "TooManyLeaks", message: leaksHeldBack };
}
