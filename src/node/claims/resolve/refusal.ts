// Why a claim got no address, as its condition says it. Pure.
import { allocationReasons } from "../../../api/claims/claim-marks.ts";
import type { AllocationReason } from "../../../api/claims/claim-status.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import { CniError, errorCodes } from "../../../cni/error.ts";
import type { RefusalCode } from "../../../ipam/request.ts";

export class ClaimRefusal extends CniError {
  readonly reason: AllocationReason;
  /** The claim that says it, where the ADD does not go by it. */
  readonly claim?: StoredClaim;

  constructor(reason: AllocationReason, message: string, claim?: StoredClaim) {
    super(errorCodes.refused, message);
    this.name = "ClaimRefusal";
    this.reason = reason;
    if (claim !== undefined) this.claim = claim;
  }
}

/** Key: the code of the decision. */
const reasons: Readonly<Partial<Record<RefusalCode, AllocationReason>>> = {
  exhausted: allocationReasons.exhausted,
  "too-small": allocationReasons.exhausted,
  "held-by-another": allocationReasons.addressConflict,
  "cooling-down": allocationReasons.addressConflict,
  reserved: allocationReasons.addressConflict,
  excluded: allocationReasons.addressConflict,
};

/** Undefined where the error says nothing about the claim: the API server is away, the configuration is wrong. */
export function reasonOf(error: unknown): AllocationReason | undefined {
  if (error instanceof ClaimRefusal) return error.reason;
  if (!(error instanceof CniError) || error.code !== errorCodes.refused) return undefined;
  return reasons[error.cause as RefusalCode] ?? allocationReasons.other;
}
