// Leaves a slice that is lost (its object is gone, or another's) while this node holds addresses in it: they go into the reservation ledger before the
// grant is forgotten, so that whoever gets the block leaves them out. Not those that a later grant gives to another node: its journal gives them. An
// earlier one is of a restored copy, and a slice that a piece was lent from is around it without having it.
// Not promised: that nobody has given such an address meanwhile. What is not recorded stays in the journal until its pod goes.
import { ObjectError as BadObject } from "../../../api/error.ts";
import { formatDomain } from "../../../api/pools/domain.ts";
import { type Hold, LedgerError } from "../../../ipam/ledger.ts";
import { isApiError, isNamespaceEnding } from "../../../kube/errors.ts";
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import type { Address } from "../../../net/address.ts";
import { includes } from "../../../net/interval.ts";
import { contains, type Prefix } from "../../../net/prefix.ts";
import { viewOf } from "../mirror/journal-view.ts";
import { type ActParts, moveHold, settledPlace } from "./apply-phase.ts";
import { readSlicePool, slicesOf } from "./lost-object.ts";
import type { SliceObject, SliceParts } from "./slice-object.ts";

export type LeaveParts = Omit<ActParts, "state"> & Pick<SliceParts, "node">;

const callMs = 10_000;

/** Throws without an answer: the grant stays and it is tried again. Does not throw where records are refused: other slices do not wait for a quota. */
export async function leave(parts: LeaveParts, known: JournalGrant): Promise<void> {
  const { journal, key, log } = parts;
  if (known.phase === "active") await journal.put({ ...known, phase: "returning" });
  try {
    await record(parts, known);
  } catch (error) {
    // Its namespace is gone or going, or the shared pool's name is another's: there is no place for a record.
    const cause = error instanceof LedgerError ? error.cause : error;
    const isPlaceless = isApiError(error, "not-found") || isNamespaceEnding(cause) || error instanceof BadObject;
    if (!isPlaceless && !isApiError(cause, "forbidden")) throw error;
    const remedy = `it is tried again; let ${known.namespace} have more records: its quotas, policies and this daemon's rights`;
    const what = `what is held in slice ${key}, which is lost, cannot be recorded${isPlaceless ? "" : `: ${remedy}`}`;
    log.error(what, { slice: key, error });
    if (!isPlaceless) return;
  }
  await journal.drop(key);
}

/** Whether an address is another's to give by a later grant, of the slices that have any of these. */
async function givenByOthers({ client, node, signal }: LeaveParts, known: JournalGrant, holds: readonly Hold[]) {
  const later: SliceObject[] = [];
  const pool = await readSlicePool(client, known, { signal, timeoutMs: callMs });
  const isWanted = (block: Prefix, of: string) => of !== node && holds.some(({ address }) => contains(block, address));
  for await (const slice of slicesOf(client, pool, known, { isWanted, signal }))
    if (slice.granted !== undefined && slice.granted.grant.generation > known.generation) later.push(slice);
  const mayGive = ({ slice, granted }: SliceObject, address: Address) =>
    contains(slice, address) &&
    !granted!.without.some((block) => contains(block, address)) &&
    !granted!.taken.some((each) => includes(each, address));
  return ({ address }: Hold) => later.some((each) => mayGive(each, address));
}

async function record(parts: LeaveParts, known: JournalGrant): Promise<void> {
  const { journal, log, key, clock } = parts;
  const { namespace, network } = known;
  const all = viewOf(journal, journal.grant(key) ?? known, clock.wallMs()).holds;
  if (all.length === 0) return;
  const isAnothers = await givenByOthers(parts, known, all);
  const holds = all.filter((hold) => !isAnothers(hold));
  const count = all.length - holds.length;
  if (count > 0) log.warn("held addresses of a slice are another node's by now", { slice: key, count });
  if (holds.length === 0) return;
  const shared = await settledPlace(parts, known, formatDomain({ scope: "network", network }));
  for (const hold of holds) {
    const why = await moveHold(parts, namespace, shared, hold);
    if (why !== "") log.error(`an address of slice ${key}, which is lost, cannot be recorded: ${why}`, { slice: key });
  }
}
