// What `holdfast check` says: one inconsistency, the objects it is about, and what to do.
import type { Move } from "../claims/moves/move.ts";
import type { TakeRequest } from "../ipam/ledger.ts";
import type { EntryChange } from "../pools/mirror/mirror.ts";
import type { PoolHold } from "../pools/pool-hold.ts";

type FindingCode =
  | "entry-without-hold"
  | "hold-without-entry"
  | "two-addresses"
  | "two-owners"
  /** A running pod uses it, and nobody holds it. */
  | "not-held"
  /** A running pod uses it, and another holds it. */
  | "held-by-another"
  | "leaked"
  | "claim-gone"
  | "user-gone"
  | "unreadable"
  | "setting-ignored"
  | "pool-without-network"
  | "overlapping-ranges"
  | "mixed-protection"
  | "cooled"
  | "slices-overlap"
  | "slice-without-object"
  /** Granted, and not assigned: another may be. */
  | "slice-unassigned"
  | "slice-fenced"
  | "slice-waiting"
  | "mirror-behind"
  | "node-silent"
  | "entry-without-pod"
  | "not-taken"
  | "gateway-held"
  | "whereabouts-unexpected"
  | "coexistence-undecided"
  | "state-unknown"
  | "no-claim-kind"
  | "persistence-refused"
  | "claim-without-hold"
  | "claim-contradicted"
  | "claims-share-address"
  | "dead-owner"
  | "foreign-claims"
  /** Being deleted, and kept by a finalizer whose system is not there, or not known here. */
  | "stray-finalizer"
  | "two-systems"
  | "vm-pool-faulty"
  | "vm-pools-overlap"
  | "vm-network-missing"
  | "vm-network-gives-addresses"
  | "vm-pool-agents"
  | "vm-config-faulty"
  | "vm-config-without-hold"
  | "vm-hold-without-config"
  | "vm-hold-without-pool";

/** What --repair does about it; what has none is for a person. */
export type Repair =
  | {
      readonly kind: "take";
      readonly namespace: string;
      /** Where the pod runs: whose daemon would have written it. */
      readonly node: string;
      readonly request: TakeRequest;
    }
  | { readonly kind: "free"; readonly held: PoolHold }
  | { readonly kind: "delete-cooled"; readonly held: PoolHold }
  | { readonly kind: "entries"; readonly pool: string; readonly changes: readonly EntryChange[] }
  | { readonly kind: "adopt"; readonly pool: string }
  /** Done by `repairClaims`, before what pods use is held. */
  | { readonly kind: "hold-for-claim"; readonly move: Move };

/** The first few by name, the rest by number: a list in a sentence. */
export function named(keys: readonly string[]): string {
  const more = keys.length - namedMax;
  return `${keys.slice(0, namedMax).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const namedMax = 10;

type Said = Pick<Finding, "message" | "remedy" | "repair">;

export function finding(
  code: FindingCode,
  severity: Finding["severity"],
  objects: readonly string[],
  said: Said,
): Finding {
  return { code, severity, objects, ...said };
}

export function found(...of: Parameters<typeof finding>): Finding[] {
  return [finding(...of)];
}

export interface Finding {
  readonly code: FindingCode;
  /** `info`: it passes by itself. */
  readonly severity: "error" | "warning" | "info";
  /** `Kind namespace/name`, the first the one that it is about. */
  readonly objects: readonly string[];
  readonly message: string;
  readonly remedy: string;
  readonly repair?: Repair;
}
