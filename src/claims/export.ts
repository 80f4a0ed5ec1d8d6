// Claims as a file that another cluster can read: `holdfast claims export` writes it, `holdfast adopt --file` reads it. Pure.
//
// Promised: every VM's claim that has an address is in it, with all of its addresses. What cannot move is named in `left`, with the reason.
import { z } from "zod";

import { homeOf } from "../api/claim-family.ts";
import { macLabelName, ownershipOf } from "../api/claim-marks.ts";
import { parseKey } from "../kube/meta.ts";
import type { StoredClaim } from "../ledger/resources.ts";
import type { Books } from "./books.ts";
import { ClaimsError } from "./claims-error.ts";
import { describeClaim, nicOfClaim } from "./move.ts";
import { ownNames } from "./own-claim.ts";
import { targetOf } from "./target.ts";

const entry = z.object({
  namespace: z.string().min(1),
  vm: z.string().min(1),
  /** The network's name in the VM's spec. */
  nic: z.string().min(1),
  /** The name in the CNI configuration. */
  network: z.string(),
  /** Where it was. For those who read the file. */
  ownerUid: z.string().default(""),
  claim: z.string().default(""),
  /** Each with the length of its network. */
  ips: z.array(z.string()).min(1),
  mac: z.string().default(""),
});

const document = z.object({
  kind: z.literal("holdfast-claims"),
  version: z.literal(1),
  exportedAt: z.string().default(""),
  claims: z.array(entry),
  /** Sentences: claims that are not in it. */
  left: z.array(z.string()).default([]),
});

export type ExportedClaim = z.infer<typeof entry>;
export type ExportFile = z.infer<typeof document>;

export function exportClaims(books: Books): ExportFile {
  const claims: ExportedClaim[] = [];
  const left: string[] = [];
  for (const claim of books.snapshot.claims) {
    const exported = exportOf(books, claim);
    if (typeof exported === "string") left.push(`${describeClaim(claim)}: ${exported}`);
    else claims.push(exported);
  }
  const exportedAt = new Date(books.snapshot.nowMs).toISOString();
  const order = (a: ExportedClaim, b: ExportedClaim) =>
    `${a.namespace}/${a.vm}/${a.nic}` < `${b.namespace}/${b.vm}/${b.nic}` ? -1 : 1;
  return { kind: "holdfast-claims", version: 1, exportedAt, claims: claims.toSorted(order), left };
}

function exportOf(books: Books, claim: StoredClaim): ExportedClaim | string {
  const ownership = ownershipOf(claim);
  if (ownership.kind === "ownerless")
    return "it has no owner: make it by hand in the other cluster, with the same name";
  const { namespace = "", name: vm } = parseKey(homeOf(claim));
  const target = targetOf(books.snapshot, { namespace, name: vm }, books.places.persistence);
  if (target?.uid !== ownership.uid) return `its owner ${ownership.uid} is gone`;
  const nic = nicOfClaim(claim, ownNames(target, claim.spec.network));
  if (nic === undefined) return "it does not say which NIC it is for, and its name does not either";
  const ips = ipsOf(books, claim);
  if (ips.length === 0) return "it has no address yet";
  const { network } = claim.spec;
  const mac = (claim.metadata.labels?.[macLabelName] ?? "").replaceAll("-", ":");
  return { namespace, vm, nic, network, ownerUid: ownership.uid, claim: claim.metadata.name ?? "", ips, mac };
}

/** The holds decide; where another IPAM gives the addresses, the status is all there is. */
function ipsOf(books: Books, claim: StoredClaim): string[] {
  const held = books.heldFor(claim.metadata.uid ?? "");
  if (held.length === 0) return [...(claim.status?.ips ?? [])];
  const definitions = books.places.ofNetwork(claim.spec.network, claim.metadata.namespace ?? "");
  return held
    .map(({ hold }) => {
      const placing = books.places.of(definitions, hold.address);
      return placing.kind === "place" ? `${hold.address}/${placing.place.length}` : `${hold.address}`;
    })
    .toSorted();
}

/** Throws ClaimsError (bad-file). `where` names the file. */
export function parseExport(text: string, where: string): ExportFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw badFile(where, error instanceof Error ? error.message : String(error), error);
  }
  const read = document.safeParse(json);
  if (read.success) return read.data;
  const [first] = read.error.issues;
  throw badFile(where, `${first?.path.join(".") || "the document"}: ${first?.message}`, read.error);
}

function badFile(where: string, why: string, cause: unknown): ClaimsError {
  return new ClaimsError(
    "bad-file",
    `${where} is not what \`holdfast claims export\` writes (${why}). Export again, and leave the file as it is.`,
    { cause },
  );
}
