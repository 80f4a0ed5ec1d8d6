// CHECK: what this sandbox holds, as an ADD would answer it now, against what the runtime believes.
import { answerOf } from "../cni/answer.ts";
import { assertUnchanged } from "../cni/check.ts";
import { CniError, errorCodes } from "../cni/error.ts";
import type { AttachmentInvocation } from "../cni/invocation.ts";
import { requirePreviousResult } from "../cni/previous-result.ts";
import { sameOwner } from "../ipam/owner.ts";
import type { Address } from "../net/address.ts";
import { contains } from "../net/prefix.ts";
import { askingOf } from "./asking.ts";
import type { Parts } from "./parts.ts";
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
    const pod = await podOf(parts, invocation, loaded, signal);
    using look = parts.sliced.look();
    const asking = askingOf({ ...parts, invocation, loaded, pod, sliced: look.ranges });
    const held = [...parts.held.ofAttachment(invocation), ...parts.sliced.ofAttachment(invocation)];
    const allocated = new Map<number, Address>();
    for (const share of asking.shares) {
      const own = held.find(
        ({ hold }) => sameOwner(hold.owner, share.owner) && contains(share.definition.prefix, hold.address),
      );
      if (own === undefined) throw missing(invocation, String(share.definition.prefix));
      if (share.range !== undefined) allocated.set(share.range, own.hold.address);
    }
    assertUnchanged(answerOf(loaded.config, allocated, asking.statics), previous, invocation.interfaceName);
  });
}

function missing({ containerId, interfaceName }: AttachmentInvocation, range: string): CniError {
  return new CniError(
    errorCodes.checkFailed,
    `the interface ${interfaceName} of the container ${containerId} holds no address of ${range}: delete the pod, so that it is set up anew.`,
  );
}
