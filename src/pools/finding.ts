// What `holdfast check` says: one inconsistency, the objects it is about, and what to do.
import type { TakeRequest } from "../ipam/ledger.ts";
import type { Held } from "./held.ts";
import type { EntryChange } from "./mirror.ts";

type FindingCode =
  /** A pool's entry whose address nobody holds. */
  | "entry-without-hold"
  /** A hold that its pool does not show. */
  | "hold-without-entry"
  | "two-addresses"
  | "two-owners"
  /** A running pod uses it, and nobody holds it. */
  | "not-held"
  /** A running pod uses it, and another holds it. */
  | "held-by-another"
  | "leaked"
  | "unreadable"
  | "pool-without-network"
  | "overlapping-ranges"
  | "mixed-protection"
  | "cooled"
  | "gateway-held";

/** What --repair does about it; what has none is for a person. */
export type Repair =
  | {
      readonly repair: "take";
      readonly namespace: string;
      /** Where the pod runs: whose daemon would have written it. */
      readonly node: string;
      readonly request: TakeRequest;
    }
  | { readonly repair: "free"; readonly held: Held }
  | { readonly repair: "delete-cooled"; readonly held: Held }
  | { readonly repair: "entries"; readonly pool: string; readonly changes: readonly EntryChange[] }
  | { readonly repair: "adopt"; readonly pool: string };

export interface Finding {
  readonly code: FindingCode;
  readonly severity: "error" | "warning";
  /** `Kind namespace/name`, the first the one that it is about. */
  readonly objects: readonly string[];
  /** A sentence: what is wrong. */
  readonly message: string;
  /** A sentence: what to do. */
  readonly remedy: string;
  readonly repair?: Repair;
}
