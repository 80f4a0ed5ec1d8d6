// Status conditions by the API conventions: one per type, with the time when `status` last changed, not of the write.
import { timestamp } from "./clock.ts";
import type { DeepReadonly, KubeObject } from "./meta.ts";
import type { Resource } from "./resource.ts";
import type { CallOptions, KubeClient } from "./rest.ts";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** One CamelCase word, for machines. */
  readonly reason: string;
  /** A sentence, for people. */
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

/** The conditions with this one in place; the very same array if that changes nothing. */
export function withCondition(
  conditions: readonly Condition[],
  condition: Omit<Condition, "lastTransitionTime">,
  nowMs: number,
): readonly Condition[] {
  const before = findCondition(conditions, condition.type);
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : timestamp(nowMs);
  const after: Condition = { ...condition, lastTransitionTime };
  if (before === undefined) return [...conditions, after];
  if (isEqual(before, after)) return conditions;
  return conditions.map((each) => (each === before ? after : each));
}

export function findCondition(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((each) => each.type === type);
}

/** Writes the status if it differs from the cached one; `conflict` if the object has moved on: reconcile it again. */
export async function updateStatus<T extends KubeObject & { status?: unknown }>(
  client: KubeClient,
  resource: Resource<T>,
  cached: DeepReadonly<T>,
  status: T["status"],
  options: CallOptions = {},
): Promise<boolean> {
  if (isEqual((cached as T).status, status)) return false;
  await client.update(resource, { ...(cached as T), status }, { ...options, subresource: "status" });
  return true;
}

/** Equality of JSON values; a key that is undefined counts as absent. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const key of keys) {
    if (!isEqual((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])) return false;
  }
  return true;
}
