// Reads one slice's IPPool and brings the journal to it (judge-grant.ts).
import { ObjectError as BadObject } from "../../../api/error.ts";
import { readNetworkStatus, statusAnnotation } from "../../../api/network-status.ts";
import { readPool } from "../../../cluster/pool-object.ts";
import { hasEnded, type Pod } from "../../../cluster/resources.ts";
import type { Hold } from "../../../ipam/ledger.ts";
import { type DeepReadonly, parseKey } from "../../../kube/meta.ts";
import type { JournalGrant } from "../../../ledger/journal/grant.ts";
import { contains } from "../../../net/prefix.ts";
import { heldInDoubt, holdBack, judgeAbsence, judgeObject, nothing, type GrantDecision } from "./judge-grant.ts";
import { leave, makeAgain, readSlicePool } from "./lost-slice.ts";
import { holdsIn, readSliceObject, type SliceObject, type SliceParts } from "./slice-object.ts";

const callMs = 10_000;
const heldStays = "what is held stays until its pods go";

export async function look(parts: SliceParts, isMade = false): Promise<void> {
  const { key, state, client, signal, journal, node } = parts;
  const { namespace = "", name } = parseKey(key);
  const object = await readPool(client, { namespace, name, signal }).catch((error: unknown) => {
    if (error instanceof BadObject) return "unreadable" as const;
    throw error;
  });
  parts.onHeard();
  const known = journal.grant(key);
  if (object === undefined && isMade) throw new Error(`the IPPool of slice ${key} is gone as soon as it is made`);
  if (object === undefined) return lost(parts, known);
  const present = object === "unreadable" ? undefined : object;
  const slice = present && readSliceObject(present);
  const unreadable = known ? holdBack(known, "its IPPool cannot be read, or is not marked as a slice") : nothing;
  const decision = slice ? judgeObject(node, slice, known, journal.droppedOf(slice.domain)) : unreadable;
  await carryOut(parts, parts.isDoubted ? heldInDoubt(decision, known) : decision, slice);
  // Pods wait for the leader's answer.
  state.isUrgent ||= parts.isDoubted;
  state.present = present;
  state.granted = slice?.node === node ? slice.granted : undefined;
  state.shared = slice?.shared;
}

async function carryOut(parts: SliceParts, decision: GrantDecision, slice: SliceObject | undefined): Promise<void> {
  const { journal, key } = parts;
  const known = journal.grant(key);
  // A journal that lost lines learns from the object which answers it may have given.
  const doubted = journal.suspect === "" ? undefined : slice;
  switch (decision.kind) {
    case "nothing":
      return doubted === undefined || known === undefined ? undefined : journal.put(known, takenOver(parts, doubted));
    case "accept":
      return accept(parts, decision.grant, slice!);
    case "change":
      return journal.put(decision.grant, doubted === undefined ? [] : takenOver(parts, doubted));
    case "hold-back":
      warn(parts, "SliceHeldBack", `nothing is handed out of slice ${key}: ${decision.why}; what is held stays`);
      return journal.put(decision.grant);
    case "drop":
      warn(parts, "SliceTakenAway", `slice ${key} is not this node's any more: ${decision.why}; ${heldStays}`);
      // Another node's slice is in a journal that was copied: its pods are not here.
      return known === undefined || slice?.node !== parts.node ? journal.drop(key) : leave(parts, known);
  }
}

async function accept(parts: SliceParts, grant: JournalGrant, slice: SliceObject): Promise<void> {
  const { journal, key, log } = parts;
  const holds = grant.sealed ? [] : takenOver(parts, slice);
  await journal.put(grant, holds);
  for (const { message } of slice.contents.unreadable) log.warn(message, { slice: key });
  const { generation } = grant;
  log.info("a slice was granted", { slice: key, block: String(grant.slice), generation, takenOver: holds.length });
}

/** The object's entries; then the addresses that running pods say they use, where the journal cannot know. */
function takenOver({ journal, pods, key }: SliceParts, slice: SliceObject): Hold[] {
  if (!pods.hasSynced) throw new Error(`slice ${key} waits until this node's pods are known`);
  const isNew = journal.grant(key) === undefined || journal.suspect !== "";
  const all = [...holdsIn(slice), ...(isNew ? holdsOfPods(pods.cache.list(), slice) : [])];
  const inside = all.filter(({ address }) => contains(slice.slice, address));
  return [...Map.groupBy(inside, ({ address }) => String(address)).values()].map(([first]) => first!);
}

/** By a multi-network plugin's notes on running pods. Not promised: of this network; one too many goes with its pod. */
function holdsOfPods(running: Iterable<DeepReadonly<Pod>>, { domain, slice }: SliceObject): Hold[] {
  return Array.from(running).flatMap((pod) => {
    const { uid = "", namespace = "", name = "", annotations } = pod.metadata;
    const interfaces = hasEnded(pod) ? [] : (readNetworkStatus(statusAnnotation(annotations)) ?? []);
    return interfaces.flatMap(({ interface: port, addresses, isDefault }) => {
      const owner = { kind: "pod", uid, namespace, name, interface: port } as const;
      const own = isDefault ? [] : addresses.filter((address) => contains(slice, address));
      return own.map((address) => ({ domain, address, owner, version: "" }));
    });
  });
}

async function lost(parts: SliceParts, known: JournalGrant | undefined): Promise<void> {
  const { key, state, client, node, journal, signal } = parts;
  state.present = undefined;
  state.granted = undefined;
  if (known === undefined) return;
  if (known.sealed) return journal.drop(key);
  // Until its node is known, nothing is handed out of it.
  if (known.phase === "active") await journal.put({ ...known, phase: "returning" });
  const call = { signal, timeoutMs: callMs };
  const isStillOurs = async () => judgeAbsence(node, known, await readSlicePool(client, known, call)) === "make-again";
  if ((await isStillOurs()) && (await makeAgain(client, node, known, { ...call, isStillOurs }))) {
    warn(parts, "SliceObjectLost", `the IPPool of slice ${key} was gone, and was made again from this node's journal`);
    return look(parts, true);
  }
  warn(parts, "SliceTakenAway", `slice ${key} is not this node's any more: its IPPool is gone; ${heldStays}`);
  await leave(parts, known);
}

function warn({ log, tell, key }: SliceParts, reason: string, message: string): void {
  const { namespace = "", name } = parseKey(key);
  log.warn(message, { slice: key });
  tell({ namespace, name }, "Warning", reason, message);
}
