// Claims against holds, owners and each other: what does not fit together. Pure. Holds against claims are src/pools' (examine-claims.ts).
//
// Promised: what passes by itself while a leader works is told as such (`info`), or not at all.
import { homeOf } from "../api/claim-family.ts";
import { claimFinalizer, identityOf, isManagedClaim, ownershipOf, upstreamClaimFinalizer } from "../api/claim-marks.ts";
import { parseKey } from "../kube/meta.ts";
import type { ReadHold } from "../ledger/held-objects.ts";
import type { StoredClaim } from "../ledger/resources.ts";
import type { Address } from "../net/address.ts";
import type { Books } from "./books.ts";
import { examineSystems } from "./examine-systems.ts";
import type { ClaimFinding } from "./finding.ts";
import { describeClaim, type Move, nicOfClaim } from "./move.ts";
import { heldBy, ownNames, readIps } from "./own-claim.ts";
import { isForeign } from "./takeover.ts";
import { livingUsers, type Target, targetOf, usersOf } from "./target.ts";

export function examineClaims(books: Books): ClaimFinding[] {
  const { claims } = books.snapshot;
  return [
    ...examineSystems(books),
    ...claims.flatMap((claim) => unheld(books, claim)),
    ...shared(books),
    ...claims.flatMap((claim) => deadOwner(books, claim)),
    ...claims.flatMap((claim) => strayFinalizer(books, claim)),
  ];
}

/** Those of ipam-extensions are held by nobody until they are taken over. */
function unheld(books: Books, claim: StoredClaim): ClaimFinding[] {
  if (isForeign(claim) || claim.metadata.deletionTimestamp !== undefined) return [];
  const addresses = readIps(claim.status?.ips ?? []);
  const target = liveOwner(books, claim);
  const nic = target && nicOfClaim(claim, ownNames(target, claim.spec.network));
  const definition = target?.nics.find((each) => each.nic === nic)?.definition;
  const definitions =
    definition === undefined
      ? books.places.ofNetwork(claim.spec.network, claim.metadata.namespace ?? "")
      : [definition];
  if (typeof addresses === "string" || definitions.length === 0) return [];
  const held = new Set(books.heldFor(claim.metadata.uid ?? "").map(({ hold }) => `${hold.address}`));
  return addresses
    .filter((address) => !held.has(`${address}`))
    .flatMap((address): ClaimFinding[] => {
      const placing = books.places.of(definitions, address, { isByHand: ownershipOf(claim).kind === "ownerless" });
      if (placing.kind === "theirs") return [];
      const message = `The status of ${describeClaim(claim)} shows ${address}, and `;
      const objects = [describeClaim(claim)];
      if (placing.kind === "nowhere") {
        const remedy = "Correct the definition, or delete the VM's NIC: it gets another address.";
        return [
          { code: "claim-contradicted", severity: "error", objects, message: `${message}${placing.why}.`, remedy },
        ];
      }
      const holder = books.holderAt(placing.place, address);
      if (holder !== undefined) return [contradicted(claim, address, holder)];
      const repair = takeMove(books, claim, target, nic, { place: placing.place, address });
      const remedy = "The controller holds it within a minute, if one runs; holdfast check --repair does so now.";
      return [
        {
          code: "claim-without-hold",
          severity: "error",
          objects,
          message: `${message}nobody holds it: another may get it.`,
          remedy,
          repair,
        },
      ];
    });
}

function contradicted(claim: StoredClaim, address: Address, holder: ReadHold): ClaimFinding {
  return {
    code: "claim-contradicted",
    severity: "error",
    objects: [describeClaim(claim), describeHold(holder)],
    message: `The status of ${describeClaim(claim)} shows ${address}, but ${heldBy(address, holder)}.`,
    remedy:
      "The hold is right. Stop the VM whose claim it is not, and take the network out of its spec until its claim is gone.",
  };
}

function takeMove(
  { snapshot }: Books,
  claim: StoredClaim,
  target: Target | undefined,
  nic: string | undefined,
  take: Move["take"][number],
): Move {
  const identity = target === undefined || nic === undefined ? {} : { identity: identityOf(target.uid, nic) };
  const users = target === undefined || nic === undefined ? [] : usersOf(snapshot, target, nic);
  const note = { ...identity, why: "re-added by holdfast check: the claim shows it" };
  return { nic: nic ?? "", first: "claim", claim: { change: "none", claim }, pass: [], take: [take], note, users };
}

function liveOwner(books: Books, claim: StoredClaim): Target | undefined {
  const ownership = ownershipOf(claim);
  const { namespace = "", name } = parseKey(homeOf(claim));
  const target = targetOf(books.snapshot, { namespace, name }, books.places.persistence);
  return ownership.kind === "owned" && target?.uid === ownership.uid ? target : undefined;
}

function shared(books: Books): ClaimFinding[] {
  const shown = books.snapshot.claims.flatMap((claim) =>
    (claim.status?.ips ?? []).map((ip) => ({ claim, key: `${claim.spec.network} ${ip.split("/")[0]}` })),
  );
  return [...Map.groupBy(shown, ({ key }) => key)]
    .filter(([, all]) => new Set(all.map(({ claim }) => claim.metadata.uid)).size > 1)
    .map(([key, all]): ClaimFinding => {
      const address = key.slice(key.lastIndexOf(" ") + 1);
      return {
        code: "claims-share-address",
        severity: "error",
        objects: all.map(({ claim }) => describeClaim(claim)),
        message: `${address} stands in the status of ${all.map(({ claim }) => describeClaim(claim)).join(" and of ")}.`,
        remedy: `holdfast who ${address} says whose it is. Stop the other VM before the two meet on the network.`,
      };
    });
}

function deadOwner(books: Books, claim: StoredClaim): ClaimFinding[] {
  const ownership = ownershipOf(claim);
  if (ownership.kind === "ownerless" || isForeign(claim) || books.lives(ownership.uid)) return [];
  if (claim.metadata.deletionTimestamp !== undefined) return [];
  const { metadata } = claim;
  const users = books.heldFor(metadata.uid ?? "").flatMap(({ hold }) => hold.users ?? []);
  if (livingUsers(books.snapshot, metadata.namespace ?? "", users).length > 0) return [];
  return [
    {
      code: "dead-owner",
      severity: "warning",
      objects: [describeClaim(claim)],
      message: `The owner of ${describeClaim(claim)}, ${ownership.uid}, is gone.`,
      remedy: isManagedClaim({ metadata })
        ? `The controller ends it within a minute: is one running? If a restored VM is to have its address: holdfast adopt NAMESPACE/VM --from ${ownership.uid}.`
        : `Delete it; or, if a restored VM is to have its address: holdfast adopt NAMESPACE/VM --from ${ownership.uid}.`,
    },
  ];
}

function strayFinalizer({ snapshot: { extensions } }: Books, claim: StoredClaim): ClaimFinding[] {
  const { deletionTimestamp, finalizers = [], namespace, name } = claim.metadata;
  // Garbage collection puts two of its own there, and takes them away.
  const others = finalizers.filter(
    (each) => each !== claimFinalizer && !["foregroundDeletion", "orphan"].includes(each),
  );
  const theirs = others.includes(upstreamClaimFinalizer);
  if (deletionTimestamp === undefined || others.length === 0 || (theirs && extensions.isRunning)) return [];
  const whose = theirs ? " of kubevirt/ipam-extensions, which does not run here" : "";
  return [
    {
      code: "stray-finalizer",
      severity: theirs ? "error" : "warning",
      objects: [describeClaim(claim)],
      message: `${describeClaim(claim)} is being deleted and waits for ${others.join(", ")}${whose}.`,
      remedy: theirs
        ? `Where no pod uses its address: kubectl -n ${namespace} patch ipamclaim ${name} --type=merge -p '{"metadata":{"finalizers":null}}'.`
        : "Whoever put it there must take it away.",
    },
  ];
}

export function describeHold({ object }: ReadHold): string {
  return `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
}
