// CHECK: what this sandbox holds, as an ADD would answer it now, against what the runtime believes.
import { answerOf } from "../cni/answer.ts";
import { assertUnchanged } from "../cni/check.ts";
import { CniError, errorCodes } from "../cni/error.ts";
import type { AttachmentInvocation } from "../cni/invocation.ts";
import { requirePreviousResult } from "../cni/previous-result.ts";
import type { Hold } from "../ipam/ledger.ts";
import { sameOwner } from "../ipam/owner.ts";
import type { Address } from "../net/address.ts";
import { contains } from "../net/prefix.ts";
import { askingOf } from "./asking.ts";
import { heldByClaim } from "./claims/check.ts";
import { claimOf } from "./claims/of-pod.ts";
import type { Parts } from "./parts.ts";
import type { Share } from "./plan.ts";
import { podOf } from "./pod-of.ts";

/** Silent where they agree; code 100 with every difference otherwise. Nothing is written. */
export async function check(
  parts: Parts,
  invocation: AttachmentInvocation,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const loaded = parts.configs.load(text);
  const previous = requirePreviousResult(loaded.network);
  await parts.attachments.check(invocation, signal, async () => {
    if (!parts.sliced.isWhole(loaded.config)) await parts.assertKnown(signal);
    const known = await podOf(parts, invocation, loaded, signal);
    const { pod, claim } = await claimOf(parts, invocation, loaded, known, { signal, mayWait: false });
    using look = parts.sliced.look();
    const asking = askingOf({ ...parts, invocation, loaded, pod, sliced: look.ranges, claim });
    const holdOf = claim === undefined ? heldByPod(parts, invocation) : await heldByClaim(parts, asking, claim, signal);
    const allocated = new Map<number, Address>();
    for (const share of asking.shares) {
      const own = holdOf(share);
      if (own === undefined) throw missing(invocation, String(share.definition.prefix));
      if (share.range !== undefined) allocated.set(share.range, own.address);
    }
    assertUnchanged(answerOf(loaded.config, allocated, asking.statics), previous, invocation.interfaceName);
  });
}

function heldByPod(parts: Parts, invocation: AttachmentInvocation): (share: Share) => Hold | undefined {
  const held = [...parts.held.ofAttachment(invocation), ...parts.sliced.ofAttachment(invocation)];
  return ({ owner, definition }) =>
    held.find(({ hold }) => sameOwner(hold.owner, owner) && contains(definition.prefix, hold.address))?.hold;
}

function missing({ containerId, interfaceName }: AttachmentInvocation, range: string): CniError {
  return new CniError(
    errorCodes.checkFailed,
    `the interface ${interfaceName} of the container ${containerId} holds no address of ${range}: delete the pod, so that it is set up anew.`,
  );
}
