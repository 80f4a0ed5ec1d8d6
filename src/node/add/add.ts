// ADD: all ranges or none, one write each in the usual case. Promised: the same owner gets the same answer, and a new
// sandbox takes the holds over. A failed ADD gives back its new holds, and keeps those from before. Where the outcome
// of a write is not known, an intent is on the disk before the error is answered.
import { allocationReasons } from "../../api/claims/claim-marks.ts";
import { isSliceDomain, parseDomain } from "../../api/pools/domain.ts";
import { answerOf } from "../../cni/answer.ts";
import { CniError, errorCodes } from "../../cni/error.ts";
import type { AttachmentInvocation } from "../../cni/invocation.ts";
import type { JsonObject } from "../../cni/json.ts";
import { type CniResult, formatResult } from "../../cni/result.ts";
import { ownerKey } from "../../ipam/owner.ts";
import type { Address } from "../../net/address.ts";
import { addByClaim, tellClaim } from "../claims/hold/add.ts";
import { claimOf } from "../claims/resolve/resolve-claim.ts";
import type { CniRequest, DaemonContext } from "../context.ts";
import { sandboxHold } from "../holds/sandboxes.ts";
import { StillAttached } from "../ovn/attacher.ts";
import { askOvn, type OvnAsk } from "../ovn/ovn-networks.ts";
import { strictWords } from "../pools/pool-resolver.ts";
import { rollBack } from "../release/rollback.ts";
import { attachmentKey } from "../request/attachment.ts";
import type { LoadedConfig } from "../request/configurations.ts";
import { failureOf } from "../request/failure.ts";
import { type PodFacts, podOf } from "../request/pods.ts";
import type { SlicedLook } from "../slices/slice-facade.ts";
import { type Asking, type AskingInput, askingOf } from "./add-request.ts";
import { takeProbed } from "./duplicate-probe.ts";
import type { Taken } from "./take.ts";

export interface Addition {
  readonly parts: DaemonContext;
  readonly invocation: AttachmentInvocation;
  readonly loaded: LoadedConfig;
  readonly asking: Asking;
  readonly pod: PodFacts | undefined;
  readonly look: SlicedLook;
  /** Id of the sandbox's namespace; a stat beside the commit instead of after it. */
  readonly netnsId: Promise<string>;
  /** Our own plugin attaches the pod too. */
  readonly attaching: OvnAsk | undefined;
  /** The request's configuration, as it came. */
  readonly text: string;
  readonly signal: AbortSignal;
}

export async function add(parts: DaemonContext, { invocation, text, signal }: CniRequest): Promise<JsonObject> {
  const loaded = await parts.loadConfig(text);
  return parts.attachments.add(invocation, signal, async (own) => {
    // Addresses of this node's slices alone need no API server.
    const isLocal = parts.sliced.isWhole(loaded.config);
    if (!isLocal) {
      await parts.readiness.assertReady(own);
      await parts.sliced.told(own);
    }
    const known = await podOf(parts, invocation, loaded, own);
    const attaching = await askOvn(parts, invocation, loaded, known, own);
    if (attaching?.given !== undefined) {
      const order = { invocation, loaded, text, result: attaching.given, signal: own };
      return formatResult(await parts.ovn!.attach(attaching, order), loaded.config.cniVersion);
    }
    const { pod, claim } = await claimOf(parts, invocation, loaded, known, { signal: own, mayWait: true });
    using look = parts.sliced.look();
    const asking = understood({ ...parts, invocation, loaded, pod, sliced: look, claim, attaching }, parts);
    if (isLocal && asking.shares.some(({ slice }) => slice === undefined)) await parts.readiness.assertReady(own);
    if (asking.warnings.length > 0) {
      const words = asking.warnings.join(" ");
      const { interfaceName, containerId } = invocation;
      if (pod === undefined) parts.log.warn(words, { interfaceName, containerId });
      else tellIgnored(parts, pod, interfaceName, words);
    }
    const netnsId = parts.sandboxes.identify(invocation.netns);
    try {
      return await run({ parts, invocation, loaded, asking, pod, look, netnsId, attaching, text, signal: own });
    } catch (error) {
      if (error instanceof CniError && error.code === errorCodes.refused)
        tellRefused(parts, { pod, invocation }, error);
      throw error;
    }
  });
}

function understood(input: AskingInput, parts: DaemonContext): Asking {
  const { claim } = input;
  try {
    return askingOf(input);
  } catch (error) {
    if (error instanceof CniError && claim !== undefined) {
      // A refused request is outside of what the network hands out; any other cannot be read.
      const reason = error.code === errorCodes.refused ? allocationReasons.outOfRange : allocationReasons.other;
      tellClaim(parts, claim.claim, claim.user.name, { reason, message: error.message });
    }
    if (error instanceof CniError) tellRefused(parts, input, error);
    throw error;
  }
}

function tellIgnored(parts: DaemonContext, pod: PodFacts, interfaceName: string, words: string): void {
  parts.tell(pod.object, "Warning", "SettingIgnored", `${interfaceName}: ${words}`);
}

function tellRefused(
  parts: DaemonContext,
  { pod, invocation }: Pick<AskingInput, "pod" | "invocation">,
  error: CniError,
) {
  const words = `${invocation.interfaceName}: ${error.message}`;
  if (pod !== undefined) parts.tell(pod.object, "Warning", "AddressRefused", words);
}

async function run(addition: Addition): Promise<JsonObject> {
  const { parts, invocation, loaded, asking, signal } = addition;
  const { namespace } = asking.owner;
  // An intent to release this very sandbox is void from here on; it comes back if the ADD fails.
  const withdrawn = parts.intents.get(invocation);
  if (withdrawn !== undefined) await parts.intents.remove(invocation);
  parts.gone.delete(attachmentKey(invocation));
  let taken: readonly Taken[] = [];
  let failures: readonly unknown[] = [];
  try {
    if (asking.claim !== undefined) {
      const result = await addByClaim(addition, asking.claim);
      parts.history.assertSettled();
      // The sandbox itself holds nothing: its DEL has nothing to do.
      parts.gone.set(attachmentKey(invocation), true);
      return formatResult(await attached(addition, result), loaded.config.cniVersion);
    }
    // A quota counts objects of the API; addresses of slices have none.
    const isCounted = asking.shares.some(({ slice }) => slice === undefined);
    const limit = isCounted ? await parts.quota.limitOf(namespace, signal) : undefined;
    if (limit !== undefined) await parts.quota.assertRoom(namespace, limit, wanted(addition), signal);
    ({ taken, failures } = await takeAll(addition));
    // A refusal says more to the runtime than an outage beside it.
    const first = failures.find((reason) => reason instanceof CniError) ?? failures[0];
    if (first !== undefined) throw first;
    if (limit !== undefined) await parts.quota.assertRoom(namespace, limit, 0, signal);
    // The write itself may tell of a restore; slices go on.
    if (isCounted) parts.history.assertSettled();
    await remember(addition, taken);
    const isShared = (each: Taken) =>
      each.share.pool !== undefined && parseDomain(each.hold.domain).scope === "network";
    if (!loaded.config.overlappingRanges && addition.pod !== undefined && taken.some(isShared))
      tellIgnored(parts, addition.pod, invocation.interfaceName, `${strictWords}.`);
    const allocated = new Map<number, Address>();
    for (const { share, hold } of taken) if (share.range !== undefined) allocated.set(share.range, hold.address);
    const result = await attached(addition, answerOf(loaded.config, allocated, asking.statics));
    return formatResult(result, loaded.config.cniVersion);
  } catch (error) {
    // A port may have the addresses still: they are given back when it has gone.
    if (!(error instanceof StillAttached)) await rollBack(addition, { taken, failures, withdrawn });
    throw failureOf(error);
  }
}

/** An IPAM plugin is done when the addresses are held; our own main plugin makes the interface that has them. */
async function attached({ parts, attaching, ...order }: Addition, result: CniResult): Promise<CniResult> {
  return attaching === undefined ? result : await parts.ovn!.attach(attaching, { ...order, result });
}

/** Shares whose owner holds nothing yet, by this node's knowledge; an owner that looks first may hold elsewhere. */
function wanted({ parts, asking }: Addition): number {
  if (asking.lookFirst) return 0;
  const keys = new Set(asking.shares.map(({ owner }) => ownerKey(owner)));
  let held = 0;
  for (const { hold } of parts.held.all()) if (keys.has(ownerKey(hold.owner))) held += 1;
  const shared = asking.shares.filter(({ slice }) => slice === undefined).length;
  return Math.max(0, shared - held);
}

/** All shares at once: they are in different pools, or under different owners' keys. */
async function takeAll(addition: Addition) {
  const { asking, look } = addition;
  const works = asking.shares.map((share) => takeProbed(addition, share));
  const shared = works.filter((_, index) => asking.shares[index]!.slice === undefined);
  // A share that waits for a slice must not keep the leader waiting for its word: it would wait for itself.
  const over = Promise.allSettled(shared).then(() => look[Symbol.dispose]());
  const ends = await Promise.allSettled(works);
  await over;
  return {
    taken: ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : [])),
    failures: ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : [])),
  };
}

async function remember({ parts, invocation, asking, netnsId }: Addition, taken: readonly Taken[]): Promise<void> {
  const { containerId, interfaceName, netns } = invocation;
  const { namespace, name, uid } = asking.owner;
  const holds = taken.flatMap((each) =>
    isSliceDomain(each.hold.domain) ? [] : [sandboxHold(each.namespace, each.hold)],
  );
  await parts.sandboxes.remember({ containerId, interfaceName, netns, pod: { namespace, name, uid }, holds }, netnsId);
}
