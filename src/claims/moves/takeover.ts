// `holdfast claims takeover`: claims of kubevirt/ipam-extensions become ours. Pure. Promised: only for the living VM or
// VMI that the owner reference names by UID; all addresses are held first, then our marks replace theirs in one write.
// Its pod's holds pass on; a conflict changes nothing. Not promised: dead owners' claims (garbage collection, check).
import { isForeign, ownershipOf, upstreamClaimFinalizer, upstreamClaimName } from "../../api/claims/claim-marks.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import { ClaimsError, describeClaim, noteFor, remarked, type MoveDecision } from "./move.ts";
import { livingOwnerOf, obtainable, type OwnClaim, readIps, type NewOwner, usersOf } from "./new-owner.ts";
import type { SnapshotIndex } from "./snapshot.ts";

export function planTakeover(books: SnapshotIndex): MoveDecision[] {
  return books.snapshot.claims.filter(isForeign).map((claim) => decisionOf(books, claim));
}

function decisionOf(books: SnapshotIndex, claim: StoredClaim): MoveDecision {
  const what = describeClaim(claim);
  const refused = (why: string): MoveDecision => ({ kind: "refused", what, why });
  if (claim.metadata.deletionTimestamp !== undefined) return refused("it is being deleted: its owner is done with it");
  const target = ownerOf(books, claim);
  if (typeof target === "string") return refused(target);
  const own = ownOf(books, target, claim);
  if (typeof own === "string") return refused(own);
  const addresses = readIps(claim.status?.ips ?? []);
  if (typeof addresses === "string") return refused(addresses);
  const users = usersOf(books, target, own.nic);
  const holding = obtainable(books, own, addresses, { users });
  if (typeof holding === "string") return refused(holding);
  const note = noteFor(target, own.nic, "taken over from kubevirt/ipam-extensions");
  const change = remarked(claim, target, own.nic);
  return { kind: "move", what, move: { nic: own.nic, first: "holds", claim: change, ...holding, note, users } };
}

function ownerOf(books: SnapshotIndex, claim: StoredClaim): NewOwner | string {
  const ownership = ownershipOf(claim);
  if (ownership.kind === "ownerless") {
    return "it has no owner reference any more (a VM that was deleted with --cascade=orphan): delete it once no VM uses it";
  }
  const gone = `its owner ${ownership.uid} is gone: where nothing uses it, delete it and take ${upstreamClaimFinalizer} away`;
  return livingOwnerOf(books, claim) ?? gone;
}

/** Which NIC it is for: by its name, and by the network that it names. */
function ownOf(books: SnapshotIndex, target: NewOwner, claim: StoredClaim): OwnClaim | string {
  const { network } = claim.spec;
  const fits = target.nics.filter(({ nic }) => upstreamClaimName(target.name, nic) === claim.metadata.name);
  const onIt = fits.filter(({ definition }) => books.places.persistence.get(definition)?.network === network);
  const [only, another] = onIt;
  if (another !== undefined) {
    return `its name fits ${only!.nic} and ${another.nic} of the VM, which are both on ${network}: rename one of the two networks in the VM`;
  }
  if (only === undefined) {
    const why =
      fits.length === 0 ? "no network of the VM has its name" : `${fits[0]!.nic} of the VM is not on ${network}`;
    return `${why}: it was unplugged or moved; delete the claim once no pod uses it`;
  }
  return { ...only, network, claim, holds: books.heldFor(claim.metadata.uid ?? "") };
}

/** Throws ClaimsError where ipam-extensions runs and nobody said that this is meant. */
export function refuseBeside(
  { snapshot: { extensions } }: SnapshotIndex,
  { beside }: { readonly beside: boolean },
): void {
  if (!extensions.isRunning || beside) return;
  throw new ClaimsError(
    "extensions-run",
    `kubevirt/ipam-extensions is at work: ${extensions.why.join(" ")} It would take its finalizer off and make claims of its own. ` +
      "Remove its webhook configuration first, then its Deployment; or say --beside.",
  );
}
