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
  /** A user of a claim's address whose pod and node are gone. */
  | "user-gone"
  | "unreadable"
  /** A definition asks for something that is not done, as whereabouts does not. */
  | "setting-ignored"
  | "pool-without-network"
  | "overlapping-ranges"
  | "mixed-protection"
  | "cooled"
  | "slices-overlap"
  /** Assigned, and no grant is written. */
  | "slice-without-object"
  /** Granted, and not assigned: another may be. */
  | "slice-unassigned"
  | "slice-fenced"
  | "slice-waiting"
  /** A slice's IPPool is not what its node's journal has. */
  | "mirror-behind"
  | "node-silent"
  /** A slice's entry whose pod is gone: its node gives it back. */
  | "entry-without-pod"
  /** Held in the reservation ledger, and a slice may hand it out too. */
  | "not-taken"
  | "gateway-held"
  /** whereabouts is seen, and coexistence is not on for it. */
  | "whereabouts-unexpected"
  /** Nothing is handed out of shared ranges until the operator has said a word. */
  | "coexistence-undecided"
  /** Daemons do not know which ranges are sliced. */
  | "state-unknown"
  /** Definitions let addresses stay, and the cluster does not have the kind that keeps them. */
  | "no-claim-kind"
  /** A definition asks for it in a way that cannot be. */
  | "persistence-refused"
  /** Its status shows an address that nobody holds. */
  | "claim-without-hold"
  /** Its status shows an address that another has. */
  | "claim-contradicted"
  /** Two claims show one address. */
  | "claims-share-address"
  /** Of a VM that is gone. */
  | "dead-owner"
  /** Made by ipam-extensions, and not taken over. */
  | "foreign-claims"
  /** Being deleted, and kept by a finalizer whose system is not there, or not known here. */
  | "stray-finalizer"
  /** ipam-extensions runs beside us. */
  | "two-systems";

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

/** A number of things in a sentence: `1 slice`, `2 slices`. */
export function count(number: number, noun: string): string {
  if (number === 1) return `1 ${noun}`;
  return `${number} ${noun}${noun.endsWith("s") ? "es" : "s"}`;
}

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
