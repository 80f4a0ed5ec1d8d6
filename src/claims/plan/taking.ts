// Addresses of a status that nothing holds: OVN-Kubernetes gave them, or a restore brought them back. Pure. They are
// taken like any other, so another's stays another's. Where the claim has a hold, the hold is believed. Others may
// write a status: its addresses are bound like those asked for by number (src/cni/by-number.ts), one per range at most.
import { allocatedCondition, allocationReasons, identityOf } from "../../api/claims/claim-marks.ts";
import { tryAddress } from "../../api/holds/address-name.ts";
import { maxRequested } from "../../cni/by-number.ts";
import type { ClaimView, Family } from "./family.ts";
import { fateOf, mayBeThere } from "./retention.ts";
import type { ClaimStep } from "./steps.ts";

/** After a conflict: the other may be gone by then, and nothing tells. */
const takeAgainMs = 60_000;

export function takingSteps(view: ClaimView, family: Family): readonly ClaimStep[] {
  const { kind, life, nic, network, claim } = view;
  const mayTake = kind === "owned" ? isOfSomebody(view, family) : kind === "by-hand";
  if (!mayTake || (kind === "by-hand" && view.isDeleting) || family.facts.giverOf(network) !== "holdfast") return [];
  const addresses = unheld(view, family);
  if (addresses.length === 0) return [];
  const identity = life !== undefined && nic !== "" ? identityOf(life.uid, nic) : undefined;
  const nics = life === undefined ? [] : (family.wanted.get(life) ?? []);
  const definition = nics.find((each) => each.nic === nic && each.network === network)?.definition;
  const take: ClaimStep = {
    kind: "take",
    claim,
    addresses,
    ...(definition !== undefined && { definition }),
    ...(identity !== undefined && { identity }),
  };
  return isInConflict(view) ? [take, { kind: "again", afterMs: takeAgainMs }] : [take];
}

/** Its owner lives, or may: it cannot be seen yet, or a restore brought the claim back for an owner of another life. */
function isOfSomebody(view: ClaimView, family: Family): boolean {
  if (view.life === undefined) return fateOf(view, family).kind === "restored" || mayBeThere(family);
  return view.life.phase === "alive";
}

function unheld({ claim, holds }: ClaimView, { loose }: Family): readonly string[] {
  const families = new Set(holds.map(({ hold }) => hold.address.family));
  const standing = new Set(loose.map(({ hold }) => hold.hold.address.toString()));
  return (claim.status?.ips ?? []).slice(0, maxRequested).flatMap((ip) => {
    const address = tryAddress(ip.split("/")[0]!);
    if (address === undefined || families.has(address.family) || standing.has(address.toString())) return [];
    return [address.toString()];
  });
}

/** The daemon, or an earlier plan, found an address of its status held by another. */
function isInConflict({ claim }: ClaimView): boolean {
  const condition = claim.status?.conditions?.find(({ type }) => type === allocatedCondition);
  return condition?.status === "False" && condition.reason === allocationReasons.addressConflict;
}
