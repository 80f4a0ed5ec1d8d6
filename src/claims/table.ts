// The table of `holdfast claims`: every claim, whose it is, its addresses, its state and who uses it. Pure.
import { homeOf } from "../api/claim-family.ts";
import { ownershipOf } from "../api/claim-marks.ts";
import { type DeepReadonly, parseKey } from "../kube/meta.ts";
import type { ReadHold } from "../ledger/held-objects.ts";
import type { StoredClaim } from "../ledger/resources.ts";
import type { Books } from "./books.ts";
import { Families } from "./families.ts";
import { nicOfClaim } from "./move.ts";
import { ownNames } from "./own-claim.ts";
import type { FamilyFacts } from "./plan/facts.ts";
import { claimStateOf, type ClaimState } from "./plan/state.ts";
import { targetOf } from "./target.ts";

export interface ClaimRow {
  readonly namespace: string;
  readonly claim: string;
  /** The VM's name, or that of the VMI without one; empty: it was made by hand. */
  readonly vm: string;
  /** The network's name in the VM's spec; empty: it is not known. */
  readonly nic: string;
  /** The name in the CNI configuration; empty: the claim is gone. */
  readonly network: string;
  readonly ips: readonly string[];
  readonly state: ClaimState | "quarantine";
  /** That use it now. */
  readonly pods: readonly string[];
  readonly nodes: readonly string[];
  /** Null where nothing says it. */
  readonly ageSeconds: number | null;
}

export interface ClaimFilter {
  readonly namespace?: string | undefined;
  /** Of a claim, or of a VM. */
  readonly name?: string | undefined;
}
