// Leaves a slice that is lost (its object is gone, or another's) while this node holds addresses in it: they go into the reservation ledger before the
// grant is forgotten, so that whoever gets the block leaves them out. Not those that a later grant gives to another node: its journal gives them. An
// earlier one is of a restored copy, and a slice that a piece was lent from is around it without having it.
// Not promised: that nobody has given such an address meanwhile. What is not recorded stays in the journal until its pod goes.
import { ObjectError as BadObject } from "../../../api/error.ts";
import { formatDomain } from "../../../api/pools/domain.ts";
import { poolName } from "../../../api/pools/pool-name.ts";
import { blocksOf, floatingNode } from "../../../api/slices/slice-grant.ts";
import { readPool } from "../../../cluster/pool-object.ts";
import { type Hold, LedgerError } from "../../../ipam/ledger.ts";
import { isApiError, isNamespaceEnding } from "../../../kube/errors.ts";
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import type { Address } from "../../../net/address.ts";
import { includes } from "../../../net/interval.ts";
import { contains } from "../../../net/prefix.ts";
import { viewOf } from "../mirror/journal-view.ts";
import type { ActParts } from "./apply-phase.ts";
import { moveHold, settledPlace } from "./drain.ts";
import { readSlicePool } from "./lost-object.ts";
import { readSliceObject, type SliceObject } from "./slice-object.ts";
import type { SliceParts } from "./slice-state.ts";

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
async function givenByOthers(parts: LeaveParts, known: JournalGrant, holds: readonly Hold[]) {
  const { client, node, signal } = parts;
  const { namespace, network, generation } = known;
  const later: SliceObject[] = [];
  const { status } = (await readSlicePool(client, known, { signal, timeoutMs: callMs })) ?? {};
  for (const { nodeName, sliceRange } of status?.allocations ?? []) {
    const [range] = ["", node, floatingNode].includes(nodeName) ? [] : blocksOf([sliceRange]);
    if (range === undefined || !holds.some(({ address }) => contains(range, address))) continue;
    const name = poolName({ range, network, node: nodeName });
    const object = await readPool(client, { namespace, name, signal });
    const slice = object && readSliceObject(object);
    if (slice?.granted !== undefined && slice.granted.grant.generation > generation) later.push(slice);
  }
  const mayGive = ({ slice, granted }: SliceObject, address: Address) =>
    contains(slice, address) &&
    !granted!.without.some((block) => contains(block, address)) &&
    !granted!.taken.some((each) => includes(each, address));
  return ({ address }: Hold) => later.some((each) => mayGive(each, address));
}

async function record(parts: LeaveParts, known: JournalGrant): Promise<void> {
  const { journal, ledgerOf, onMoved, signal, log, key, clock } = parts;
  const { namespace, network } = known;
  const all = viewOf(journal, journal.grant(key) ?? known, clock.wallMs()).holds;
  if (all.length === 0) return;
  const isAnothers = await givenByOthers(parts, known, all);
  const holds = all.filter((hold) => !isAnothers(hold));
  if (holds.length < all.length) {
    const count = all.length - holds.length;
    log.warn("held addresses of a slice are another node's by now", { slice: key, count });
  }
  if (holds.length === 0) return;
  const shared = await settledPlace(parts, known, formatDomain({ scope: "network", network }));
  for (const hold of holds) {
    const why = await moveHold({ journal, ledger: ledgerOf(namespace), shared, namespace, onMoved }, hold, signal);
    if (why !== "") log.error(`an address of slice ${key}, which is lost, cannot be recorded: ${why}`, { slice: key });
  }
}
