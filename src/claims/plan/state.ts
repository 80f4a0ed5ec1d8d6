// The state of a claim, or of a NIC, by the names of the state machine: what commands print and tests assert. Pure.
import { claimName } from "../../api/claims/claim-marks.ts";
import { attachedPods, listedPods, looseTarget, targetOf } from "./attachment.ts";
import type { FamilyFacts } from "./facts.ts";
import { type ClaimView, type Family, familyOf } from "./family.ts";

/** QUAR is not among them: an address that cools down is nobody's, and no fact of a family. */
export type ClaimState = "NONE" | "PEND" | "BOUND" | "MIGR" | "RSVD" | "DETACH" | "TERM" | "FOREIGN";

/** Of a NIC of the VM, or of the VMI without one, that is there now. */
export function stateOf(facts: FamilyFacts, nic: string): ClaimState {
  const family = familyOf(facts);
  const mine = family.lives[0];
  const own = family.claims.filter((each) => each.kind === "owned" && each.life === mine && each.nic === nic);
  const view = own.find((each) => isOnItsNetwork(each, family)) ?? own[0];
  if (mine !== undefined && view !== undefined) return stateOfView(view, family);
  const plain = claimName(facts.name, nic);
  if (family.claims.some(({ name }) => name === plain)) return "FOREIGN";
  const isHeld = family.loose.some((each) => each.nic === nic && attachedPods(looseTarget(each), family).length > 0);
  return isHeld ? "TERM" : "NONE";
}

/** Of a claim by its UID; NONE where it is not of the family. */
export function stateOfClaim(facts: FamilyFacts, uid: string): ClaimState {
  const family = familyOf(facts);
  const view = family.claims.find((each) => each.uid === uid);
  return view === undefined ? "NONE" : stateOfView(view, family);
}

function stateOfView(view: ClaimView, family: Family): ClaimState {
  if (view.isDeleting) return "TERM";
  if (view.kind === "owned" && view.life === undefined) return "FOREIGN";
  // A deletion in the background reaches the claim last.
  if (view.kind === "owned" && view.life?.phase !== "alive") return "TERM";
  const hasAddress = view.holds.length > 0 || (isOthers(view, family) && (view.claim.status?.ips ?? []).length > 0);
  if (!hasAddress) return "PEND";
  const pods = attachmentsOf(view, family);
  if (pods === 0) return "RSVD";
  if (isUnplugged(view, family)) return "DETACH";
  return pods === 1 ? "BOUND" : "MIGR";
}

/** Pods that have the address; where others give it, pods that have the NIC. */
function attachmentsOf(view: ClaimView, family: Family): number {
  return (isOthers(view, family) ? attachedPods(targetOf(view), family) : listedPods(view, family)).length;
}

function isOthers({ network }: ClaimView, { facts }: Family): boolean {
  return facts.giverOf(network) === "other";
}

function isUnplugged(view: ClaimView, family: Family): boolean {
  return view.kind === "owned" && view.life?.phase === "alive" && view.nic !== "" && !isOnItsNetwork(view, family);
}

/** Its owner has the NIC, and on this network as far as is known. */
function isOnItsNetwork({ life, nic, network }: ClaimView, { wanted }: Family): boolean {
  const nics = life === undefined ? [] : (wanted.get(life) ?? []);
  return nics.some((each) => each.nic === nic && (each.network === undefined || each.network === network));
}
