// After a failed ADD: what it has newly taken is given back at once; what may have been written is left to an intent.
import type { Addition } from "./add.ts";
import { attachmentKey } from "./attachment.ts";
import type { Intent } from "./intent.ts";
import { joinIntents } from "./intent.ts";

/** The runtime waits for its error meanwhile; what takes longer is done in the background. */
const giveBackMs = 10_000;

/** `withdrawn` is the intent that the ADD took back when it began. Never throws: the ADD's own error is what is told. */
export async function giveBack(addition: Addition, withdrawn: Intent | undefined): Promise<void> {
  const { parts, invocation, loaded, taken, unknown } = addition;
  const { containerId, interfaceName } = invocation;
  // Nobody has used the addresses, so they need no rest. The ADD's own signal may be what ended it.
  const signal = AbortSignal.timeout(giveBackMs);
  const fresh = taken.filter(({ isNew }) => isNew);
  const results = await Promise.allSettled(
    fresh.map(({ namespace, hold }) =>
      parts.releases.free(namespace, hold, { attachment: invocation, cooldownMs: 0, signal }),
    ),
  );
  const stuck = results.flatMap((result, index) => (result.status === "rejected" ? [fresh[index]!] : []));
  const targets = [
    ...unknown,
    ...stuck.flatMap(({ namespace, hold, share: { owner } }) =>
      owner.kind === "pod" ? [{ namespace, domain: hold.domain, owner }] : [],
    ),
  ];
  if (targets.length === 0 && withdrawn === undefined) {
    if (parts.held.ofAttachment(invocation).length === 0) parts.gone.set(attachmentKey(invocation), true);
    return;
  }
  const intent: Intent = {
    containerId,
    interfaceName,
    targets,
    pools: [],
    cooldownMs: loaded.config.cooldownMs ?? parts.cooldownMs,
    sinceMs: parts.now(),
  };
  try {
    await parts.intents.add(withdrawn === undefined ? intent : joinIntents(withdrawn, intent));
    parts.wake();
  } catch (error) {
    const { podNamespace, podName } = invocation.args;
    parts.log.error(
      "a failed ADD may have left an address behind, and that could not be recorded; the leader collects it",
      {
        pod: `${podNamespace}/${podName}`,
        containerId,
        error,
      },
    );
  }
}
