// A claim that an ADD goes by, with all that it decides; and why it got no address, as its condition says. Pure.
import { allocationReasons, identityOf, ownershipOf, requestedAnnotation } from "../../../api/claims/claim-marks.ts";
import type { AllocationReason } from "../../../api/claims/claim-status.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import { CniError, errorCodes } from "../../../cni/error.ts";
import { commaList } from "../../../cni/json.ts";
import type { HoldUser } from "../../../ipam/ledger.ts";
import type { ClaimOwner } from "../../../ipam/owner.ts";
import type { RefusalCode } from "../../../ipam/request.ts";
import { type Address, parseAddress } from "../../../net/address.ts";
import { isMac } from "../../../net/mac.ts";
import { orNone } from "../../../net/or-none.ts";

export interface ClaimUse {
  readonly claim: StoredClaim;
  readonly owner: ClaimOwner;
  /** OWNER-UID/NIC; undefined where the claim has no owner. */
  readonly identity: string | undefined;
  readonly user: HoldUser;
  /** Of the pod; undefined: it is no launcher. */
  readonly vmiUid: string | undefined;
  /** Other pods of the VMI, as it says, the running one first: the guest may have an address from before its claim. */
  readonly siblings?: readonly Sibling[];
  /** Addresses asked for by number, as written. */
  readonly requested: readonly string[];
  /** The MAC of the element, six bytes with colons; any other text is no MAC. */
  readonly mac: string | undefined;
}

export interface Sibling {
  readonly uid: string;
  readonly node: string;
}

interface UseInput extends Omit<ClaimUse, "owner" | "identity"> {
  readonly nic: string | undefined;
}

export function useOf({ claim, user, vmiUid, siblings = [], nic, requested, mac }: UseInput): ClaimUse {
  const { uid = "", namespace = "", name = "" } = claim.metadata;
  const ownership = ownershipOf(claim);
  const identity = ownership.kind === "owned" ? identityOf(ownership.uid, ownership.nic ?? nic ?? "") : undefined;
  return {
    claim,
    owner: { kind: "claim", uid, namespace, name },
    identity,
    user,
    vmiUid,
    siblings,
    requested: [...new Set([...requested, ...commaList(claim.metadata.annotations?.[requestedAnnotation])])],
    mac: mac !== undefined && isMac(mac) ? mac : undefined,
  };
}

/** The addresses of the status, without their lengths. Unreadable ones are passed over: the status is information. */
export function statusAddresses({ status }: StoredClaim): Address[] {
  const read = (text: string) => orNone(() => parseAddress(text.split("/")[0] ?? "", { unmap: true }));
  return (status?.ips ?? []).flatMap((text) => read(text) ?? []);
}

export function claimText({ owner }: Pick<ClaimUse, "owner">): string {
  return `IPAMClaim ${owner.namespace}/${owner.name}`;
}

export class ClaimRefusal extends CniError {
  readonly reason: AllocationReason;
  /** The refusing claim, where the ADD does not go by it. */
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
