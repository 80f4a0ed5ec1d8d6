// CHECK: this sandbox's holds, as an ADD would answer them now, against what the runtime believes. The ledger is asked,
// one read for each address. Without the API server the daemon's memory must do: CRI-O hands a failed CHECK on as a pod
// without a network (cri-o/ocicni pull request 36); containerd asks for none (containerd issue 13332).
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import { answerOf } from "../../cni/answer.ts";
import type { Attachment } from "../../cni/attachments.ts";
import { assertUnchanged } from "../../cni/check.ts";
import { CniError, errorCodes } from "../../cni/error.ts";
import type { AttachmentInvocation } from "../../cni/invocation.ts";
import { requirePreviousResult } from "../../cni/previous-result.ts";
import { assertCheckable } from "../../cni/version.ts";
import { sameContainer, sameOwner } from "../../ipam/owner.ts";
import { deadline } from "../../kube/clock.ts";
import type { Address } from "../../net/address.ts";
import { contains } from "../../net/prefix.ts";
import { type Asking, askingOf } from "../add/add-request.ts";
import type { Share } from "../add/shares.ts";
import type { ClaimUse } from "../claims/resolve/claim-binding.ts";
import { claimOf } from "../claims/resolve/resolve-claim.ts";
import type { CniRequest, DaemonContext } from "../context.ts";
import { askOvn } from "../ovn/ovn-networks.ts";
import { podOf } from "./pods.ts";

/** A read takes milliseconds; a runtime waits for the answer. */
const askMs = 5000;

/** Silent where they agree; code 100 with every difference otherwise. Writes nothing. */
export async function check(parts: DaemonContext, { invocation, text, signal }: CniRequest): Promise<void> {
  const loaded = await parts.loadConfig(text);
  assertCheckable(loaded.network.cniVersion);
  const previous = requirePreviousResult(loaded.network);
  await parts.attachments.check(invocation, signal, async () => {
    if (!parts.sliced.isWhole(loaded.config)) await parts.readiness.assertKnown(signal);
    const known = await podOf(parts, invocation, loaded, signal);
    const attaching = await askOvn(parts, invocation, loaded, known, signal);
    if (attaching !== undefined) await parts.ovn!.attacher.check(invocation, signal);
    if (attaching?.given !== undefined) return assertUnchanged(attaching.given, previous, invocation.interfaceName);
    const { pod, claim } = await claimOf(parts, invocation, loaded, known, { signal, mayWait: false });
    using look = parts.sliced.look();
    const asked = (by: ClaimUse | undefined) =>
      // Nothing is handed out by it: the leader's word is not needed.
      askingOf({ ...parts, invocation, loaded, pod, sliced: { ...look, unknown: "" }, claim: by, isGiven: true });
    const { asking, holdOf } = (claim && (await byClaim(parts, asked(claim), claim, signal))) ?? {
      asking: asked(undefined),
      holdOf: await heldByPod(parts, invocation, signal),
    };
    const allocated = new Map<number, Address>();
    for (const share of asking.shares) {
      const own = holdOf(share);
      if (own === undefined) {
        const { containerId, interfaceName } = invocation;
        const what = `the interface ${interfaceName} of the container ${containerId} holds no address of ${share.definition.prefix}`;
        throw new CniError(errorCodes.checkFailed, `${what}: delete the pod, so that it is set up anew.`);
      }
      if (share.range !== undefined) allocated.set(share.range, own.address);
    }
    assertUnchanged(answerOf(loaded.config, allocated, asking.statics), previous, invocation.interfaceName);
  });
}

/** Undefined where the claim has nothing for this pod: a claim that came later finds a pod with its own address. */
async function byClaim(parts: DaemonContext, asking: Asking, claim: ClaimUse, signal: AbortSignal) {
  const holdOf = await parts.claims.holds.usedBy(asking.shares, claim, signal);
  return asking.shares.some((share) => holdOf(share) !== undefined) ? { asking, holdOf } : undefined;
}

async function heldByPod(parts: DaemonContext, invocation: AttachmentInvocation, signal: AbortSignal) {
  const shared = parts.held.ofAttachment(invocation).map((entry) => current(parts, invocation, entry, signal));
  const held = [...(await Promise.all(shared)).flat(), ...parts.sliced.ofAttachment(invocation)];
  return ({ owner, definition }: Share) =>
    held.find(({ hold }) => sameOwner(hold.owner, owner) && contains(definition.prefix, hold.address))?.hold;
}

/** The ledger's hold there now; nothing where it is not this sandbox's. */
async function current(parts: DaemonContext, attachment: Attachment, entry: RecordedHold, signal: AbortSignal) {
  const { namespace, hold } = entry;
  const { domain, address } = hold;
  try {
    using limit = deadline(parts.clock, askMs, signal);
    const found = await parts.facts.hold({ namespace, domain, address: String(address) }, limit.signal);
    const isOurs = found !== undefined && sameOwner(found.owner, hold.owner) && sameContainer(found.owner, hold.owner);
    return isOurs ? [{ namespace, hold: found }] : [];
  } catch (error) {
    signal.throwIfAborted();
    const { containerId, interfaceName } = attachment;
    const words = "CHECK goes by what is remembered: the API server does not answer";
    parts.log.warn(words, { containerId, interfaceName, error });
    return [entry];
  }
}
