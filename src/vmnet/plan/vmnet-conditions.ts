// Conditions as Harvester's controller writes them, so that whoever reads them today goes on reading: type, status,
// lastUpdateTime, and a reason and a message where the status is False, or True with a reserve. Pure.
import { timestamp } from "../../kube/clock.ts";

export interface SaidCondition {
  readonly type: string;
  readonly status: boolean;
  /** One word; where it is false, or true with a reserve. */
  readonly reason?: string;
  /** A sentence, where there is a reason. */
  readonly message?: string;
}

/** As it is stored; others may have written more into it. */
export interface StoredCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastUpdateTime?: unknown;
}

export const conditionOf = (type: string, status: boolean, message = "", reason = "Error"): SaidCondition =>
  status || message === "" ? { type, status } : { type, status, reason, message };

/** Those that are said, in their order, behind those of others; an unchanged one stays as it is, with its time. */
export function withConditions(
  stored: readonly StoredCondition[] | undefined,
  said: readonly SaidCondition[],
  nowMs: number,
): StoredCondition[] {
  const before = new Map((stored ?? []).map((each) => [each.type, each]));
  const types = new Set(said.map(({ type }) => type));
  const others = (stored ?? []).filter(({ type }) => !types.has(type));
  return [...others, ...said.map((each) => conditionAfter(before.get(each.type), each, nowMs))];
}

function conditionAfter(before: StoredCondition | undefined, said: SaidCondition, nowMs: number): StoredCondition {
  const { type, reason, message } = said;
  const status = said.status ? "True" : "False";
  const isSame = before?.status === status && before.reason === reason && before.message === message;
  if (isSame) return before;
  return {
    type,
    status,
    lastUpdateTime: timestamp(nowMs),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  };
}
