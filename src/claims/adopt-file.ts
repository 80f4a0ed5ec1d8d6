// `holdfast adopt --file`: which addresses of another cluster's VMs their namesakes here get. Pure.
//
// Promised: exactly the addresses of the file, or none for that NIC, with who has them. The file is the proof: nothing here says that the
// VM was the same, so it takes only what is nobody's. Done twice, it is done once.
import type { Books } from "./books.ts";
import type { ExportedClaim, ExportFile } from "./export.ts";
import { describeClaim, type Move, newClaim, noteFor, partOfHeld, remarked, type Verdict } from "./move.ts";
import { namesake, obtainable, type OwnClaim, ownClaimOf, readIps } from "./own-claim.ts";
import { type Target, targetOf } from "./target.ts";

export interface FileRequest {
  readonly file: ExportFile;
  /** Of this namespace only. */
  readonly namespace?: string | undefined;
  /** Of this VM only. */
  readonly name?: string | undefined;
  readonly nic?: string | undefined;
}

export function planFile(books: Books, { file, namespace, name, nic }: FileRequest): Verdict[] {
  const claimed = new Map<string, string>();
  return file.claims
    .filter(
      (each) =>
        (namespace ?? each.namespace) === each.namespace &&
        (name ?? each.vm) === each.vm &&
        (nic ?? each.nic) === each.nic,
    )
    .map((each) => verdictOf(books, each, claimed));
}

/** `claimed`: address of a network -> the entry of the file that has it. A file may have been put together by hand. */
function verdictOf(books: Books, entry: ExportedClaim, claimed: Map<string, string>): Verdict {
  const { namespace, vm, nic } = entry;
  const what = `${namespace}/${vm} ${nic}`;
  const refused = (why: string): Verdict => ({ verdict: "refused", what, why });
  const target = targetOf(books.snapshot, { namespace, name: vm }, books.places.persistence);
  if (target === undefined) return refused(`there is no VM ${namespace}/${vm} here: make it first, stopped`);
  if (target.phase === "deleting") return refused(`VM ${namespace}/${vm} is being deleted`);
  const own = ownClaimOf(books, target, nic);
  if (typeof own === "string") return refused(own);
  const addresses = readIps(entry.ips);
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
  const got = obtainable(books, own, addresses);
  if (typeof got === "string") return refused(got);
  const { take } = got;
  const isHeld = own.holds.every(({ hold }) => hold.owner.uid === own.claim?.metadata.uid);
  if (take.length === 0 && own.claim !== undefined && isHeld)
    return { verdict: "done", what, words: `it has ${entry.ips.join(", ")} already` };
  return moveOf(books, target, own, take, entry);
}

function moveOf(
  books: Books,
  target: Target,
  own: OwnClaim,
  take: Move["take"],
  { namespace, vm, nic, ownerUid }: ExportedClaim,
): Verdict {
  const what = `${namespace}/${vm} ${nic}`;
  const stray = own.holds.filter(({ hold }) => hold.owner.uid !== own.claim?.metadata.uid);
  const before = { continues: stray[0]?.hold.owner.uid, adoptedFrom: ownerUid === "" ? undefined : ownerUid };
  const object = newClaim(target, nic, own.network, before);
  const taken = own.claim === undefined ? namesake(books, object) : undefined;
  if (taken !== undefined) {
    const why = `${describeClaim(taken)} has the name, and is not of this VM: holdfast claims says whose it is`;
    return { verdict: "refused", what, why };
  }
  const claim =
    own.claim === undefined
      ? ({ change: "create", object } as const)
      : remarked(own.claim, target, nic, { ...before, continues: undefined });
  const pass = stray.map((held) => ({ held, part: partOfHeld(held) }));
  const note = noteFor(target, nic, `adopted from a file, where ${ownerUid || "another VM"} had it`);
  return { verdict: "move", what, move: { nic, first: "claim", claim, pass, take, note, users: [] } };
}
