// What `holdfast check` says about claims, against holds, owners and each other, and about what hinders persistent
// addresses. Pure. Holds against claims: claim-holds.ts. Promised: what a leader ends by itself is `info`, or left out.
import * as marks from "../../api/claims/claim-marks.ts";
import { describeClaim, type Move, nicOfClaim } from "../../claims/moves/move.ts";
import * as owners from "../../claims/moves/new-owner.ts";
import type { SnapshotIndex } from "../../claims/moves/snapshot.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import type { ListedHold } from "../../ledger/reservation/list-holds.ts";
import { counted } from "../../net/counted.ts";
import { type Finding, finding, found, named } from "../finding.ts";

export function examineClaims(books: SnapshotIndex): Finding[] {
  const { claims } = books.snapshot;
  return [
    ...noKind(books),
    ...refusedDefinitions(books),
    ...twoSystems(books),
    ...foreignClaims(books),
    ...claims.flatMap((claim) => unheld(books, claim)),
    ...shared(books),
    ...claims.flatMap((claim) => deadOwner(books, claim)),
    ...claims.flatMap((claim) => strayFinalizer(books, claim)),
  ];
}

function noKind({ snapshot, places }: SnapshotIndex): Finding[] {
  const allowed = [...places.persistence].filter(([, { isAllowed }]) => isAllowed).map(([key]) => key);
  if (snapshot.hasClaims || allowed.length === 0) return [];
  const objects = allowed.map((key) => `NetworkAttachmentDefinition ${key}`);
  const message = `allowPersistentIPs is set in ${named(allowed)}, and the cluster does not have the kind IPAMClaim: no address stays with a VM.`;
  const remedy = "kubectl apply -f deploy/holdfast.yaml, which brings it.";
  return [{ code: "no-claim-kind", severity: "error", objects, message, remedy }];
}

function refusedDefinitions({ places }: SnapshotIndex): Finding[] {
  return [...places.persistence].flatMap(([key, { problem, fault }]): Finding[] => {
    // A text that cannot be read at all asks for nothing.
    if (fault === undefined) return [];
    return found("persistence-refused", "warning", [`NetworkAttachmentDefinition ${key}`], {
      message: `${key} asks for persistent addresses, which it cannot have: ${problem}.`,
      remedy: "Correct it as the sentence says. Claims that are there are kept.",
    });
  });
}

function twoSystems({ snapshot: { extensions, gate } }: SnapshotIndex): Finding[] {
  const { objects, why } = extensions;
  if (objects.length === 0) return [];
  const isOn = gate.gate === "on";
  const message = `kubevirt/ipam-extensions runs here too: ${why.join(" ")}${isOn ? " Both make claims for the same VMs." : ""}`;
  const remedy =
    "Choose one. For ours: remove its webhook configuration and its Deployment, then holdfast claims takeover. For the other: holdfast controller --persistent-ips off.";
  return [{ code: "two-systems", severity: isOn ? "error" : "warning", objects, message, remedy }];
}

function foreignClaims({ snapshot: { claims } }: SnapshotIndex): Finding[] {
  const objects = claims.filter(marks.isForeign).map(describeClaim);
  if (objects.length === 0) return [];
  const message = `${counted(objects.length, "claim is", "claims are")} of kubevirt/ipam-extensions, and left alone here: their addresses are held by nobody.`;
  const remedy = "holdfast claims takeover --dry-run says what would become of each; holdfast claims takeover does it.";
  return [{ code: "foreign-claims", severity: "warning", objects, message, remedy }];
}

/** Those of ipam-extensions are held by nobody until they are taken over. */
function unheld(books: SnapshotIndex, claim: StoredClaim): Finding[] {
  if (marks.isForeign(claim) || claim.metadata.deletionTimestamp !== undefined) return [];
  const { places } = books;
  const addresses = owners.readIps(claim.status?.ips ?? []);
  const target = owners.livingOwnerOf(books, claim);
  const nic = target && nicOfClaim(claim, owners.ownNames(target, claim.spec.network));
  const definition = target?.nics.find((each) => each.nic === nic)?.definition;
  const definitions =
    definition === undefined ? places.ofNetwork(claim.spec.network, claim.metadata.namespace ?? "") : [definition];
  if (typeof addresses === "string" || definitions.length === 0) return [];
  const held = new Set(books.heldFor(claim.metadata.uid ?? "").map(({ hold }) => `${hold.address}`));
  const asked = { isByHand: marks.ownershipOf(claim).kind === "ownerless" };
  const what = describeClaim(claim);
  return addresses
    .filter((address) => !held.has(`${address}`))
    .flatMap((address): Finding[] => {
      const placing = places.of(definitions, address, asked);
      if (placing.kind === "theirs") return [];
      const shows = `The status of ${what} shows ${address}, `;
      if (placing.kind === "nowhere") {
        return found("claim-contradicted", "error", [what], {
          message: `${shows}and ${placing.why}.`,
          remedy: "Correct the definition, or delete the VM's NIC: it gets another address.",
        });
      }
      const holder = books.holderAt(placing.place, address);
      if (holder !== undefined) {
        return found("claim-contradicted", "error", [what, describeHold(holder)], {
          message: `${shows}but ${owners.heldBy(address, holder)}.`,
          remedy:
            "The hold is right. Stop the VM whose claim it is not, and take the network out of its spec until its claim is gone.",
        });
      }
      const move = takeMove(books, claim, target, nic, { place: placing.place, address });
      return found("claim-without-hold", "error", [what], {
        message: `${shows}and nobody holds it: another may get it.`,
        remedy: "The controller holds it within a minute, if one runs; holdfast check --repair does so now.",
        repair: { kind: "hold-for-claim", move },
      });
    });
}

function takeMove(
  books: SnapshotIndex,
  claim: StoredClaim,
  target: owners.NewOwner | undefined,
  nic: string | undefined,
  take: Move["take"][number],
): Move {
  const why = "re-added by holdfast check: the claim shows it";
  const move = { first: "claim", claim: { kind: "none", claim }, pass: [], take: [take] } as const;
  if (target === undefined || nic === undefined) return { ...move, nic: nic ?? "", note: { why }, users: [] };
  const note = { identity: marks.identityOf(target.uid, nic), why };
  return { ...move, nic, note, users: owners.usersOf(books, target, nic) };
}

function shared(books: SnapshotIndex): Finding[] {
  const shown = books.snapshot.claims.flatMap((claim) =>
    (claim.status?.ips ?? []).map((ip) => ({ claim, key: `${claim.spec.network} ${ip.split("/")[0]}` })),
  );
  return [...Map.groupBy(shown, ({ key }) => key)]
    .filter(([, all]) => new Set(all.map(({ claim }) => claim.metadata.uid)).size > 1)
    .map(([key, all]): Finding => {
      const address = key.slice(key.lastIndexOf(" ") + 1);
      const objects = all.map(({ claim }) => describeClaim(claim));
      return finding("claims-share-address", "error", objects, {
        message: `${address} stands in the status of ${objects.join(" and of ")}.`,
        remedy: `holdfast who ${address} says whose it is. Stop the other VM before the two meet on the network.`,
      });
    });
}

function deadOwner(books: SnapshotIndex, claim: StoredClaim): Finding[] {
  const { metadata } = claim;
  const ownership = marks.ownershipOf(claim);
  if (ownership.kind === "ownerless" || marks.isForeign(claim) || books.lives(ownership.uid)) return [];
  if (metadata.deletionTimestamp !== undefined) return [];
  if (books.heldFor(metadata.uid ?? "").some(({ hold }) => owners.livingUsers(books, hold).length > 0)) return [];
  const message = `The owner of ${describeClaim(claim)}, ${ownership.uid}, is gone.`;
  const adopt = `a restored VM is to have its address: holdfast adopt NAMESPACE/VM --from ${ownership.uid}.`;
  const remedy = marks.isManagedClaim({ metadata })
    ? `The controller ends it within a minute: is one running? If ${adopt}`
    : `Delete it; or, if ${adopt}`;
  return [{ code: "dead-owner", severity: "warning", objects: [describeClaim(claim)], message, remedy }];
}

function strayFinalizer({ snapshot: { extensions } }: SnapshotIndex, claim: StoredClaim): Finding[] {
  const { deletionTimestamp, finalizers = [], namespace, name } = claim.metadata;
  // Garbage collection puts two of its own there, and takes them away.
  const others = finalizers.filter(
    (each) => each !== marks.claimFinalizer && !["foregroundDeletion", "orphan"].includes(each),
  );
  const theirs = others.includes(marks.upstreamClaimFinalizer);
  if (deletionTimestamp === undefined || others.length === 0 || (theirs && extensions.isRunning)) return [];
  const whose = theirs ? " of kubevirt/ipam-extensions, which does not run here" : "";
  const objects = [describeClaim(claim)];
  const message = `${describeClaim(claim)} is being deleted and waits for ${others.join(", ")}${whose}.`;
  const remedy = theirs
    ? `Where no pod uses its address: kubectl -n ${namespace} patch ipamclaim ${name} --type=merge -p '{"metadata":{"finalizers":null}}'.`
    : "Whoever put it there must take it away.";
  return [{ code: "stray-finalizer", severity: theirs ? "error" : "warning", objects, message, remedy }];
}

export function describeHold({ object }: ListedHold): string {
  return `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
}
