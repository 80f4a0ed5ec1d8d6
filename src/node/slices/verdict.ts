// What a node does about one slice: from what its journal has and what the API server shows, the next state of the grant. Pure.
//
// Promised (docs/decisions/0013): what the API server shows never widens a grant unless it is newer than what the journal works by;
// a seal is never undone within its generation; a piece that was given up comes back only when the controller has let go of it.
import { tryAddress } from "../../api/address-name.ts";
import type { NodeSlicePool } from "../../api/node-slice-pool.ts";
import { blocksOf } from "../../api/slice-grant.ts";
import { type JournalGrant, writeJournalGrant } from "../../ledger/journal/grant.ts";
import { comparePrefixes, containsPrefix, overlaps, type Prefix } from "../../net/prefix.ts";
import type { ReadGrant, SliceObject } from "./slice-object.ts";

export type Verdict =
  | { readonly verdict: "nothing" }
  /** The journal does not know the grant: it takes over what is entered on the object, then hands out. */
  | { readonly verdict: "accept"; readonly grant: JournalGrant }
  | { readonly verdict: "change"; readonly grant: JournalGrant }
  /** Hands out nothing of it until the API server says better. What is held stays. */
  | { readonly verdict: "hold-back"; readonly grant: JournalGrant; readonly why: string }
  /** It is not this node's any more. What is held stays until its pods go. */
  | { readonly verdict: "drop"; readonly why: string };

export const nothing: Verdict = { verdict: "nothing" };

export function judgeObject(node: string, object: SliceObject, known: JournalGrant | undefined): Verdict {
  const { granted } = object;
  if (object.node !== node) {
    return known === undefined ? nothing : { verdict: "drop", why: `it is the slice of node ${object.node}` };
  }
  if (granted === undefined) {
    return known === undefined ? nothing : holdBack(known, "its IPPool carries no grant that can be read");
  }
  if (known === undefined || known.generation < granted.grant.generation) return acceptance(object, granted);
  if (known.generation > granted.grant.generation) {
    const why = `its IPPool is at generation ${granted.grant.generation}, and this node's journal at ${known.generation}: the API server has forgotten grants`;
    return holdBack(known, why);
  }
  if (granted.grant.serial < known.serial) return nothing;
  const next = changed(known, granted);
  const isSame = JSON.stringify(writeJournalGrant(known)) === JSON.stringify(writeJournalGrant(next));
  return isSame ? nothing : { verdict: "change", grant: next };
}

/** The slice's IPPool is not there. `pool`: its NodeSlicePool; undefined: that is not there either. */
export function judgeAbsence(
  node: string,
  known: JournalGrant,
  pool: Pick<NodeSlicePool, "status"> | undefined,
): "drop" | "make-again" {
  if (known.sealed) return "drop";
  const { allocations = [], lastGeneration = 0 } = pool?.status ?? {};
  const blocks = allocations.flatMap(({ nodeName, sliceRange }) =>
    blocksOf([sliceRange]).map((block) => ({ nodeName, block })),
  );
  // The slice that a piece was lent from is around it, and another's: only its own entry says whose a piece is.
  if (blocks.some((each) => each.nodeName === node && comparePrefixes(each.block, known.slice) === 0)) {
    return "make-again";
  }
  const lent = [...known.without, ...(known.gives === undefined ? [] : [known.gives.block])];
  const others = blocks.filter(({ block }) => overlaps(block, known.slice) && !isAmong(block, lent));
  if (others.length > 0) return "drop";
  // Nobody has it. Either the controller let it go after this grant, or it has forgotten the grant.
  return lastGeneration >= known.generation ? "drop" : "make-again";
}

export function holdBack(known: JournalGrant, why: string): Verdict {
  if (known.sealed || known.phase !== "active") return nothing;
  return { verdict: "hold-back", grant: { ...known, phase: "returning" }, why };
}

function acceptance(object: SliceObject, { grant, without, taken }: ReadGrant): Verdict {
  const { key, domain, namespace, network, range, slice, word } = object;
  const { generation, serial, phase } = grant;
  // What a journal before this one said of the same grant still holds: it was on a disk.
  const said = word?.generation === generation ? word : undefined;
  const gives = givenBefore(said, grant, without);
  return {
    verdict: "accept",
    grant: {
      key,
      domain,
      namespace,
      network,
      range,
      slice,
      generation,
      serial,
      phase,
      without,
      taken,
      ...(gives && { gives }),
      sealed: said?.sealed ?? false,
      moved: (said?.moved ?? []).flatMap((text) => tryAddress(text) ?? []),
    },
  };
}

function givenBefore(
  word: SliceObject["word"],
  grant: ReadGrant["grant"],
  without: readonly Prefix[],
): JournalGrant["gives"] {
  const { gives } = word ?? {};
  if (gives === undefined || gives.ask !== grant.lend?.ask) return undefined;
  const [block] = blocksOf([gives.block]);
  return block === undefined || isAmong(block, without) ? undefined : { ask: gives.ask, block };
}

function changed(known: JournalGrant, { grant, without, taken }: ReadGrant): JournalGrant {
  const { gives, ...rest } = known;
  const isKept = gives !== undefined && !isAmong(gives.block, without) && grant.lend?.ask === gives.ask;
  return { ...rest, serial: grant.serial, phase: grant.phase, without, taken, ...(isKept && { gives }) };
}

function isAmong(block: Prefix, blocks: readonly Prefix[]): boolean {
  return blocks.some((each) => containsPrefix(each, block));
}
