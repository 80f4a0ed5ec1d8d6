// ADD: all ranges or none, one write each where nothing else is in the way.
//
// Promised: the same owner gets the same answer; a new sandbox takes the holds over. What a failed ADD has newly taken is given
// back; what was held before stays. Where the outcome of a write is not known an intent is on the disk before the error is
// answered, so that nothing is left behind when the runtime does not ask again.
import { allocationReasons } from "../api/claim-marks.ts";
import { isSliceDomain } from "../api/domain.ts";
import { answerOf } from "../cni/answer.ts";
import { CniError, errorCodes } from "../cni/error.ts";
import type { AttachmentInvocation } from "../cni/invocation.ts";
import type { JsonObject } from "../cni/json.ts";
import { formatResult } from "../cni/result.ts";
import { ownerKey } from "../ipam/owner.ts";
import type { Address } from "../net/address.ts";
import { type Asking, type AskingInput, askingOf } from "./asking.ts";
import { attachmentKey } from "./attachment.ts";
import { addByClaim, tellClaim } from "./claims/add.ts";
import { claimOf } from "./claims/of-pod.ts";
import type { ClaimUse } from "./claims/use.ts";
import type { LoadedConfig } from "./configs.ts";
import { tellEarly } from "./early.ts";
import { failureOf } from "./failure.ts";
import { giveBack } from "./give-back.ts";
import type { IntentTarget } from "./intent.ts";
import type { Parts } from "./parts.ts";
import { podOf } from "./pod-of.ts";
import type { PodFacts } from "./pods.ts";
import { takeProbed } from "./probing.ts";
import { sandboxHold } from "./sandboxes.ts";
import { type Taken, type TakeTarget, UncertainTake } from "./take.ts";

/** One ADD on its way. */
export interface Addition {
  readonly parts: Parts;
  readonly invocation: AttachmentInvocation;
  readonly loaded: LoadedConfig;
  readonly asking: Asking;
  readonly pod: PodFacts | undefined;
  readonly signal: AbortSignal;
  readonly taken: Taken[];
  /** Where a hold may have been written, and nobody knows. */
  readonly unknown: IntentTarget[];
  /** What it wrote for a claim may still arrive. */
  readonly lost: () => void;
  /** Nothing more is taken from what all nodes share. */
  readonly onShared: () => void;
}

export async function add(
  parts: Parts,
  invocation: AttachmentInvocation,
  text: string,
  signal: AbortSignal,
): Promise<JsonObject> {
  const loaded = await parts.configs.load(text);
  return parts.attachments.add(invocation, signal, async (own) => {
    // What comes from this node's slices alone needs no API server.
    const isLocal = parts.sliced.isWhole(loaded.config);
    if (!isLocal) {
      await parts.assertReady(own);
      await parts.sliced.told(own);
    }
    const known = await podOf(parts, invocation, loaded, own);
    const { pod, claim } = await claimOf(parts, invocation, loaded, known, { signal: own, mayWait: true });
    using look = parts.sliced.look();
    const asking = understood({ ...parts, invocation, loaded, pod, sliced: look, claim }, parts);
    if (isLocal && asking.shares.some(({ slice }) => slice === undefined)) await parts.assertReady(own);
    if (asking.warnings.length > 0) tellWarned(parts, pod, invocation, asking.warnings.join(" "));
    const unknown: IntentTarget[] = [];
    try {
      // Who waits for a slice must not keep the leader waiting for its word: it would wait for itself.
      const onShared = () => look[Symbol.dispose]();
      const lost = () => look.lost();
      return await run({ parts, invocation, loaded, asking, pod, signal: own, taken: [], unknown, lost, onShared });
    } catch (error) {
      if (unknown.some(({ domain }) => !isSliceDomain(domain))) look.lost();
      if (pod !== undefined && error instanceof CniError && error.code === errorCodes.refused)
        tellRefused(parts, pod, invocation, error);
      throw error;
    }
  });
}

/** What asks for the impossible is told where its user looks. */
function understood(input: AskingInput, parts: Parts): Asking {
  const { claim, pod, invocation } = input;
  try {
    return askingOf(input);
  } catch (error) {
    if (error instanceof CniError && claim !== undefined) {
      // What may not be asked for is out of what the network hands out; the rest cannot be read.
      const reason = error.code === errorCodes.refused ? allocationReasons.outOfRange : allocationReasons.other;
      tellClaim(parts, claim.claim, claim.user.name, { reason, message: error.message });
    }
    if (error instanceof CniError && pod !== undefined) tellRefused(parts, pod, invocation, error);
    throw error;
  }
}

function tellRefused(parts: Parts, pod: PodFacts, { interfaceName }: AttachmentInvocation, error: CniError): void {
  parts.tell(pod.object, "Warning", "AddressRefused", `${interfaceName}: ${error.message}`);
}

/** What is not done as it was asked for; whereabouts says nothing. */
function tellWarned(parts: Parts, pod: PodFacts | undefined, invocation: AttachmentInvocation, words: string): void {
  const { interfaceName, containerId } = invocation;
  if (pod === undefined) parts.log.warn(words, { interfaceName, containerId });
  else parts.tell(pod.object, "Warning", "SettingIgnored", `${interfaceName}: ${words}`);
}

async function run(addition: Addition): Promise<JsonObject> {
  const { parts, invocation, asking, signal } = addition;
  const { namespace } = asking.owner;
  // A promise to release this very sandbox is void from here on; it comes back if the ADD fails.
  const withdrawn = parts.intents.get(invocation);
  if (withdrawn !== undefined) await parts.intents.remove(invocation);
  parts.gone.delete(attachmentKey(invocation));
  try {
    if (asking.claim !== undefined) return await runByClaim(addition, asking.claim);
    // A quota counts objects of the API; what comes from slices has none.
    const isCounted = asking.shares.some(({ slice }) => slice === undefined);
    const limit = isCounted ? await parts.quota.limitOf(namespace, signal) : undefined;
    if (limit !== undefined) await parts.quota.assertRoom(namespace, limit, wanted(addition), signal);
    await takeAll(addition);
    if (limit !== undefined) await parts.quota.assertRoom(namespace, limit, 0, signal);
    // What was just written may be what tells of a restore; slices go on.
    if (isCounted) parts.assertSettled();
    await remember(addition);
    return answer(addition);
  } catch (error) {
    await giveBack(addition, withdrawn);
    throw failureOf(error);
  }
}

/** The sandbox itself holds nothing: its DEL has nothing to do. */
async function runByClaim(addition: Addition, claim: ClaimUse): Promise<JsonObject> {
  const { parts, invocation, loaded } = addition;
  const result = await addByClaim(addition, claim);
  parts.assertSettled();
  parts.gone.set(attachmentKey(invocation), true);
  return formatResult(result, loaded.config.cniVersion);
}

/** Shares whose owner holds nothing yet, as far as this node knows; who looks first may hold it from elsewhere. */
function wanted({ parts, asking }: Addition): number {
  if (asking.lookFirst) return 0;
  const keys = new Set(asking.shares.map(({ owner }) => ownerKey(owner)));
  let held = 0;
  for (const { hold } of parts.held.all()) if (keys.has(ownerKey(hold.owner))) held += 1;
  const shared = asking.shares.filter(({ slice }) => slice === undefined).length;
  return Math.max(0, shared - held);
}

/** All shares at once: they are in different pools, or under different owners' keys. */
async function takeAll(addition: Addition): Promise<void> {
  const { asking, taken, onShared } = addition;
  const works = asking.shares.map(async (share) => {
    const each = await takeProbed(addition, share);
    taken.push(each);
    if (each.early) tellEarly(addition, each);
  });
  const shared = Promise.allSettled(works.filter((_, index) => asking.shares[index]!.slice === undefined));
  // What may still arrive is not over.
  const isOver = shared.then((ends) => ends.every((end) => end.status === "fulfilled" || !isUncertain(end.reason)));
  const [results] = await Promise.all([
    Promise.allSettled(works),
    isOver.then((over) => (over ? onShared() : undefined)),
  ]);
  const reasons = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  for (const reason of reasons) if (isUncertain(reason)) addition.unknown.push(...podTargets([reason.target]));
  // A refusal says more to the runtime than an outage beside it.
  const first = reasons.find((reason) => reason instanceof CniError) ?? reasons[0];
  if (first !== undefined) throw first;
}

/** What the API's ledger has; the journal remembers what is of slices. */
async function remember({ parts, invocation, asking, taken }: Addition): Promise<void> {
  const { containerId, interfaceName, netns } = invocation;
  const { namespace, name, uid } = asking.owner;
  const holds = taken.flatMap((each) =>
    isSliceDomain(each.hold.domain) ? [] : [sandboxHold(each.namespace, each.hold)],
  );
  await parts.sandboxes.remember({ containerId, interfaceName, netns, pod: { namespace, name, uid }, holds });
}

/** Claims are in no intent: nothing of theirs is given back. */
function podTargets(targets: readonly TakeTarget[]): IntentTarget[] {
  return targets.flatMap(({ owner, ...place }) => (owner.kind === "pod" ? [{ ...place, owner }] : []));
}

function isUncertain(reason: unknown): reason is UncertainTake {
  return reason instanceof UncertainTake;
}

function answer({ loaded, asking, taken }: Addition): JsonObject {
  const { config } = loaded;
  const allocated = new Map<number, Address>();
  for (const { share, hold } of taken) if (share.range !== undefined) allocated.set(share.range, hold.address);
  return formatResult(answerOf(config, allocated, asking.statics), config.cniVersion);
}
