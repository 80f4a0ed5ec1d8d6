// Why a command about claims did nothing at all.
import { CodedError } from "../../net/coded-error.ts";

type ClaimsErrorCode =
  /** The cluster does not have the kind. */
  | "no-kind"
  /** There is no such VM, and no such VMI. */
  | "no-machine"
  /** The UID that was given as proof is that of a VM or VMI that is there. */
  | "owner-alive"
  /** Nothing records the UID that was given as proof. */
  | "no-proof"
  /** No claim can hold an address now: whereabouts is active, or handing out is paused. */
  | "not-now"
  /** kubevirt/ipam-extensions is at work. */
  | "extensions-run"
  | "bad-file"
  /** Finalizers cannot be let go: a controller would put them back, nobody said --yes, or a claim changes all the time. */
  | "controller-leads"
  | "not-confirmed"
  | "keeps-changing";

export class ClaimsError extends CodedError<ClaimsErrorCode> {}
