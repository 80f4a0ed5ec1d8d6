// The state of a claim by the names of the state machine: what commands print and tests assert. Pure.
import { attachedPods, listedPods, targetOf } from "./attachment.ts";
import type { FamilyFacts } from "./facts.ts";
import { type ClaimView, type Family, familyOf } from "./family.ts";

/** QUAR is not among them: an address that cools down is nobody's, and no fact of a family. */
export type ClaimState = "NONE" | "PEND" | "BOUND" | "MIGR" | "RSVD" | "DETACH" | "TERM" | "FOREIGN";

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
  // Pods that have the address; where others give it, pods that have the NIC.
  const pods = (isOthers(view, family) ? attachedPods(targetOf(view), family) : listedPods(view, family)).length;
  if (pods === 0) return "RSVD";
  if (isUnplugged(view, family)) return "DETACH";
  return pods === 1 ? "BOUND" : "MIGR";
}

function isOthers({ network }: ClaimView, { facts }: Family): boolean {
  return facts.giverOf(network) === "other";
}

function isUnplugged(view: ClaimView, family: Family): boolean {
  return view.kind === "owned" && view.life?.phase === "alive" && view.nic !== "" && !isOnItsNetwork(view, family);
}

/** Its owner has the NIC, and on this network as far as is known. */
export function isOnItsNetwork({ life, nic, network }: ClaimView, { wanted }: Family): boolean {
  const nics = life === undefined ? [] : (wanted.get(life) ?? []);
  return nics.some((each) => each.nic === nic && (each.network === undefined || each.network === network));
}
