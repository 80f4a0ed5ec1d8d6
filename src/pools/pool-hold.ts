// One object behind an address, as the reconcilers of this folder see it: the hold, and what stands around it.
import type { RecordedHold } from "../cluster/recorded-hold.ts";
import type { OwnerKey } from "../ipam/owner.ts";

export interface PoolHold extends RecordedHold {
  readonly kind: "OverlappingRangeIPReservation" | "Hold";
  readonly name: string;
  /** The node whose daemon wrote it; empty where it was adopted. */
  readonly node: string;
  /** Nobody's: it rests. */
  readonly cooling?: { readonly untilMs: number; readonly lastOwner: OwnerKey };
  readonly createdMs?: number;
  /** Whose sandbox uses it too, as its node says. */
  readonly usedBy?: string;
}

/** For a sentence: `OverlappingRangeIPReservation kube-system/10.0.0.7`. */
export function describeHeld({ kind, namespace, name }: Pick<PoolHold, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace}/${name}`;
}

/** A record of others may name no namespace, or no pod: whoever it was, no server can be asked for it. */
export function isNameless({ hold: { owner } }: Pick<PoolHold, "hold">): boolean {
  return owner.namespace === "" || owner.name === "";
}

export function heldKey({ kind, namespace, name }: Pick<PoolHold, "kind" | "namespace" | "name">): string {
  return `${kind}/${namespace}/${name}`;
}
