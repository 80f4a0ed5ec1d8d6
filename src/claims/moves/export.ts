// Claims as a file for another cluster: `holdfast claims export` writes it, `holdfast adopt --file` reads it. Pure.
// Promised: it has every VM's claim with an address, and all its addresses. `left` names what cannot move, and why.
import { z } from "zod";

import { macLabelName, ownershipOf } from "../../api/claims/claim-marks.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import * as moves from "./move.ts";
import * as owners from "./new-owner.ts";
import type { SnapshotIndex } from "./snapshot.ts";

const claimEntry = z.object({
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
  claims: z.array(claimEntry),
  /** Sentences: claims that are not in it. */
  left: z.array(z.string()).default([]),
});

export type ExportedClaim = z.infer<typeof claimEntry>;
export type ExportFile = z.infer<typeof document>;

export function exportClaims(books: SnapshotIndex): ExportFile {
  const claims: ExportedClaim[] = [];
  const left: string[] = [];
  for (const claim of books.snapshot.claims) {
    const exported = exportOf(books, claim);
    if (typeof exported === "string") left.push(`${moves.describeClaim(claim)}: ${exported}`);
    else claims.push(exported);
  }
  const exportedAt = new Date(books.snapshot.nowMs).toISOString();
  const order = (a: ExportedClaim, b: ExportedClaim) =>
    `${a.namespace}/${a.vm}/${a.nic}` < `${b.namespace}/${b.vm}/${b.nic}` ? -1 : 1;
  return { kind: "holdfast-claims", version: 1, exportedAt, claims: claims.toSorted(order), left };
}

function exportOf(books: SnapshotIndex, claim: StoredClaim): ExportedClaim | string {
  const ownership = ownershipOf(claim);
  if (ownership.kind === "ownerless")
    return "it has no owner: make it by hand in the other cluster, with the same name";
  const target = owners.livingOwnerOf(books, claim);
  if (target === undefined) return `its owner ${ownership.uid} is gone`;
  const nic = moves.nicOfClaim(claim, owners.ownNames(target, claim.spec.network));
  if (nic === undefined) return "it does not say which NIC it is for, and its name does not either";
  const ips = ipsOf(books, claim);
  if (ips.length === 0) return "it has no address yet";
  const { namespace, name: vm, uid: ownerUid } = target;
  const mac = (claim.metadata.labels?.[macLabelName] ?? "").replaceAll("-", ":");
  return { namespace, vm, nic, network: claim.spec.network, ownerUid, claim: claim.metadata.name ?? "", ips, mac };
}

/** The holds decide; where another IPAM gives the addresses, the status is all there is. */
function ipsOf(books: SnapshotIndex, claim: StoredClaim): string[] {
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

function badFile(where: string, why: string, cause: unknown): moves.ClaimsError {
  return new moves.ClaimsError(
    "bad-file",
    `${where} is not what \`holdfast claims export\` writes (${why}). Export again, and leave the file as it is.`,
    { cause },
  );
}

export interface FileRequest {
  readonly file: ExportFile;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly nic?: string | undefined;
}

/**
 * `holdfast adopt --file`: which addresses of another cluster's VMs their namesakes here get: per NIC the file's, or
 * none, with who has them. The file alone proves that the VM is the same, so only free ones are taken. Can be repeated.
 */
export function planFile(books: SnapshotIndex, { file, namespace, name, nic }: FileRequest): moves.MoveDecision[] {
  const claimed = new Map<string, string>();
  return file.claims
    .filter(
      (each) =>
        (namespace ?? each.namespace) === each.namespace &&
        (name ?? each.vm) === each.vm &&
        (nic ?? each.nic) === each.nic,
    )
    .map((each) => decisionOf(books, each, claimed));
}

/** `claimed`: address of a network -> the entry of the file that has it. A file may have been put together by hand. */
function decisionOf(books: SnapshotIndex, entry: ExportedClaim, claimed: Map<string, string>): moves.MoveDecision {
  const { namespace, vm, nic } = entry;
  const what = `${namespace}/${vm} ${nic}`;
  const refused = (why: string): moves.MoveDecision => ({ kind: "refused", what, why });
  const target = owners.newOwnerOf(books, { namespace, name: vm });
  if (target === undefined) return refused(`there is no VM ${namespace}/${vm} here: make it first, stopped`);
  if (target.phase === "deleting") return refused(`VM ${namespace}/${vm} is being deleted`);
  const own = owners.ownClaimOf(books, target, nic);
  if (typeof own === "string") return refused(own);
  const addresses = owners.readIps(entry.ips);
  if (typeof addresses === "string") return refused(addresses);
  const doubled = addresses.map((each) => `${own.network} ${each}`).find((key) => (claimed.get(key) ?? what) !== what);
  if (doubled !== undefined) return refused(`the file gives ${doubled.split(" ")[1]} to ${claimed.get(doubled)} too`);
  for (const each of addresses) claimed.set(`${own.network} ${each}`, what);
  const wanted = new Set(addresses.map(String));
  const other = own.holds.filter(({ hold }) => !wanted.has(`${hold.address}`)).map(({ hold }) => `${hold.address}`);
  if (other.length > 0) {
    return refused(
      `VM ${namespace}/${vm} has ${other.join(", ")} on ${nic} by now: stop it, take the network out of its spec until its claim is gone, ` +
        "put it back, and call this before it starts",
    );
  }
  const got = owners.obtainable(books, own, addresses);
  if (typeof got === "string") return refused(got);
  const { take } = got;
  const isHeld = own.holds.every(({ hold }) => hold.owner.uid === own.claim?.metadata.uid);
  if (take.length === 0 && own.claim !== undefined && isHeld)
    return { kind: "done", what, words: `it has ${entry.ips.join(", ")} already` };
  return moveOf(books, target, own, take, entry);
}

function moveOf(
  books: SnapshotIndex,
  target: owners.NewOwner,
  own: owners.OwnClaim,
  take: moves.Move["take"],
  { namespace, vm, nic, ownerUid }: ExportedClaim,
): moves.MoveDecision {
  const what = `${namespace}/${vm} ${nic}`;
  const stray = own.holds.filter(({ hold }) => hold.owner.uid !== own.claim?.metadata.uid);
  const before = { continues: stray[0]?.hold.owner.uid, adoptedFrom: ownerUid === "" ? undefined : ownerUid };
  const object = moves.newClaim(target, nic, own.network, before);
  const taken = own.claim === undefined ? books.namesake(object) : undefined;
  if (taken !== undefined) {
    const why = `${moves.describeClaim(taken)} has the name, and is not of this VM: holdfast claims says whose it is`;
    return { kind: "refused", what, why };
  }
  const claim =
    own.claim === undefined
      ? ({ kind: "create", object } as const)
      : moves.remarked(own.claim, target, nic, { ...before, continues: undefined });
  const pass = stray.map(moves.passOf);
  const note = moves.noteFor(target, nic, `adopted from a file, where ${ownerUid || "another VM"} had it`);
  return { kind: "move", what, move: { nic, first: "claim", claim, pass, take, note, users: [] } };
}
