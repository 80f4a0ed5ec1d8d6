// A node's decision on one slice: from its journal and the API server's object to the next state of the grant. Pure.
// Promised (docs/decisions/0013): the object never widens a grant unless it is newer than the one that the journal
// works by; a seal is never undone within its generation, nor by a restored grant that the journal has dropped since; a
// piece that was given up comes back only as a grant of its own; a doubted grant counts only with a later serial.
import { tryAddress } from "../../../api/holds/address-name.ts";
import type { NodeSlicePool } from "../../../api/slices/node-slice-pool.ts";
import { blocksOf, covers } from "../../../api/slices/slice-grant.ts";
import { type JournalGrant, writeJournalGrant } from "../../../ledger/journal/grant.ts";
import { comparePrefixes, type Prefix } from "../../../net/prefix.ts";
import type { ReadGrant, SliceObject } from "./slice-object.ts";

export type GrantDecision =
  | { readonly kind: "nothing" }
  /** The journal does not know the grant: it takes over the object's entries, then hands out. */
  | { readonly kind: "accept"; readonly grant: JournalGrant }
  | { readonly kind: "change"; readonly grant: JournalGrant }
  /** Hands out nothing of it until the API server says better. Holds stay. */
  | { readonly kind: "hold-back"; readonly grant: JournalGrant; readonly why: string }
  /** It is not this node's any more. Holds stay until their pods go. */
  | { readonly kind: "drop"; readonly why: string };

export const nothing: GrantDecision = { kind: "nothing" };

/** `dropped`: the latest generation of the pool that the journal dropped. A grant not later may be another node's. */
export function judgeObject(node: string, object: SliceObject, known?: JournalGrant, dropped = 0): GrantDecision {
  const { granted } = object;
  if (object.node !== node) return known ? { kind: "drop", why: `it is the slice of node ${object.node}` } : nothing;
  if (granted === undefined) return known ? holdBack(known, "its IPPool carries no grant that can be read") : nothing;
  const { generation, serial, phase } = granted.grant;
  if (known === undefined || known.generation < generation) {
    const grant = acceptance(object, granted, known);
    const isOld = known === undefined && generation <= dropped;
    return { kind: "accept", grant: isOld ? { ...grant, sealed: true } : grant };
  }
  if (known.generation > generation) {
    const why = `its IPPool is at generation ${generation}, and this node's journal at ${known.generation}: the API server has forgotten grants`;
    return holdBack(known, why);
  }
  // An older serial is of a restored copy: nothing of it counts, and its gaps are told again.
  const newer = serial < known.serial ? {} : { serial, phase, taken: granted.taken };
  const { gives: _, ...kept } = known;
  const next = { ...kept, ...newer, ...givenUp(known, granted) };
  const isSame = JSON.stringify(writeJournalGrant(known)) === JSON.stringify(writeJournalGrant(next));
  return isSame ? nothing : { kind: "change", grant: next };
}

/** The slice's IPPool is missing. `pool`: its NodeSlicePool; undefined: missing too. */
export function judgeAbsence(node: string, known: JournalGrant, pool?: Pick<NodeSlicePool, "status">) {
  if (known.sealed) return "drop";
  const { allocations = [], lastGeneration = 0 } = pool?.status ?? {};
  const isOwn = ({ nodeName, sliceRange }: (typeof allocations)[number]) =>
    nodeName === node && blocksOf([sliceRange]).some((block) => comparePrefixes(block, known.slice) === 0);
  if (allocations.some(isOwn)) return "make-again";
  // The controller let it go after this grant; or it forgot the grant, and the node that it names had the block before.
  return lastGeneration >= known.generation ? "drop" : "make-again";
}

export function holdBack(known: JournalGrant, why: string): GrantDecision {
  if (known.sealed || known.phase !== "active") return nothing;
  return { kind: "hold-back", grant: { ...known, phase: "returning" }, why };
}

/**
 * The same for a node that was asleep. The object may be of a restored copy, and its block another's since: the journal
 * works by a serial that no object has yet, and hands out when the leader, who has heard the others, grants a later one
 * (src/slices/plan/grant.ts). Durable: a restart in between, or another restore, brings nothing back.
 */
export function heldInDoubt(decision: GrantDecision, known: JournalGrant | undefined): GrantDecision {
  if (decision.kind === "drop") return decision;
  const grant = decision.kind === "nothing" ? known : decision.grant;
  if (grant === undefined || grant.sealed || grant.phase === "draining") return decision;
  const held: JournalGrant = { ...grant, phase: "returning", serial: grant.serial + 1 };
  return decision.kind === "nothing" ? { kind: "change", grant: held } : { ...decision, grant: held };
}

function acceptance(object: SliceObject, read: ReadGrant, known: JournalGrant | undefined): JournalGrant {
  const { key, domain, namespace, network, range, slice, word } = object;
  const { generation, serial, phase } = read.grant;
  // The word of an earlier journal on the same grant still holds: it was on a disk.
  const said = word?.generation === generation ? word : undefined;
  const [block] = blocksOf(said?.gives === undefined ? [] : [said.gives.block]);
  const before = { without: [], ...(block && { gives: { ask: said!.gives!.ask, block } }) };
  // Without a seal in between, a piece that this journal gave up may be another's.
  const isGoingOn = known?.sealed === false;
  const moved = (said?.moved ?? []).flatMap((text) => tryAddress(text) ?? []);
  return {
    key,
    domain,
    namespace,
    network,
    range,
    slice,
    generation,
    serial,
    phase,
    taken: read.taken,
    ...givenUp(isGoingOn ? known : before, read),
    sealed: said?.sealed ?? false,
    moved: isGoingOn ? [...known.moved, ...moved] : moved,
  };
}

/** Given-up pieces stay so, in `without`; the controller is told of those that the grant lacks, one after the other. */
function givenUp(
  { without: before, gives }: Pick<JournalGrant, "without" | "gives">,
  { grant, without }: ReadGrant,
): Pick<JournalGrant, "without" | "gives"> {
  const isUntold = (block: Prefix) => !covers(without, block);
  const untold = before.filter(isUntold);
  const [block] = untold;
  const told = gives !== undefined && isUntold(gives.block) ? gives : block && { ask: grant.serial, block };
  return { without: [...without, ...untold], ...(told && { gives: told }) };
}
