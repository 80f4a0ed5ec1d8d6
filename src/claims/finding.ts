// What `holdfast check` says about claims: one inconsistency, the objects it is about, and what to do.
import type { Move } from "./move.ts";

type ClaimFindingCode =
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

export interface ClaimFinding {
  readonly code: ClaimFindingCode;
  /** `info`: it passes by itself. */
  readonly severity: "error" | "warning" | "info";
  /** `Kind namespace/name`, the first the one that it is about. */
  readonly objects: readonly string[];
  /** A sentence: what is wrong. */
  readonly message: string;
  /** A sentence: what to do. */
  readonly remedy: string;
  /** What --repair does about it; what has none is for a person. */
  readonly repair?: Move;
}
