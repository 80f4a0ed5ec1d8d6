// Leaves a slice that is lost (its object is gone, or another's) while this node holds addresses in it: they go into the reservation ledger before the
// grant is forgotten, so that whoever gets the block leaves them out. Not those in another node's slice by now: its journal gives them.
// Not promised: that nobody has given such an address meanwhile. What is not recorded stays in the journal until its pod goes.
import { ObjectError as BadObject } from "../../api/error.ts";
import { formatDomain } from "../../api/pools/domain.ts";
import { blocksOf, floatingNode } from "../../api/slices/slice-grant.ts";
import { LedgerError } from "../../ipam/ledger.ts";
import { isApiError, isNamespaceEnding } from "../../kube/errors.ts";
import type { JournalGrant } from "../../ledger/journal/grant.ts";
import { contains, type Prefix } from "../../net/prefix.ts";
import type { ActParts } from "./act.ts";
import { moveHold, settledPlace } from "./drain.ts";
import { readSlicePool } from "./lost-object.ts";
import type { SliceParts } from "./slice-state.ts";
import { viewOf } from "./view.ts";

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

async function othersBlocks({ client, node, signal }: LeaveParts, known: JournalGrant): Promise<Prefix[]> {
  const pool = await readSlicePool(client, known, { signal, timeoutMs: callMs });
  const others = (pool?.status?.allocations ?? []).filter(
    ({ nodeName }) => nodeName !== "" && nodeName !== node && nodeName !== floatingNode,
  );
  return blocksOf(others.map(({ sliceRange }) => sliceRange));
}

async function record(parts: LeaveParts, known: JournalGrant): Promise<void> {
  const { journal, ledgerOf, onMoved, signal, log, key, clock } = parts;
  const { namespace, network } = known;
  const all = viewOf(journal, journal.grant(key) ?? known, clock.wallMs()).holds;
  if (all.length === 0) return;
  const others = await othersBlocks(parts, known);
  const holds = all.filter(({ address }) => !others.some((block) => contains(block, address)));
  if (holds.length < all.length) {
    const count = all.length - holds.length;
    log.warn(`${count} addresses that are held in slice ${key} are another node's by now`, { slice: key });
  }
  if (holds.length === 0) return;
  const shared = await settledPlace(parts, known, formatDomain({ scope: "network", network }));
  for (const hold of holds) {
    const why = await moveHold({ journal, ledger: ledgerOf(namespace), shared, namespace, onMoved }, hold, signal);
    if (why !== "") log.error(`an address of slice ${key}, which is lost, cannot be recorded: ${why}`, { slice: key });
  }
}
