// After a failed ADD: its new holds are given back at once; holds that may have been written are left to an intent.
import { deadline } from "../../kube/clock.ts";
import type { Addition } from "../add/add.ts";
import { type Taken, UncertainTake } from "../add/take.ts";
import { attachmentKey } from "../request/attachment.ts";
import { type Intent, type IntentTarget, joinIntents } from "./intents.ts";

/** The runtime waits for its error meanwhile; a longer rollback goes on in the background. */
const rollBackMs = 10_000;

export interface Undone {
  readonly taken: readonly Taken[];
  /** An UncertainTake says where a hold may have been written. */
  readonly failures?: readonly unknown[];
  readonly withdrawn?: Intent | undefined;
}

/** Never throws: the ADD's own error is what is told. */
export async function rollBack(addition: Addition, { taken, failures = [], withdrawn }: Undone): Promise<void> {
  const { parts, invocation, loaded } = addition;
  const { containerId, interfaceName } = invocation;
  // Nobody has used the addresses, so they need no cooldown. The ADD's own signal may be what ended it.
  using limit = deadline(parts.clock, rollBackMs);
  const { signal } = limit;
  const fresh = taken.filter(({ isNew }) => isNew);
  const options = { attachment: invocation, cooldownMs: 0, signal };
  const results = await Promise.allSettled(fresh.map((each) => parts.releases.free(each, options)));
  const stuck = fresh
    .filter((_, index) => results[index]!.status === "rejected")
    .map(({ namespace, hold: { domain }, share: { owner } }) => ({ namespace, domain, owner }));
  const uncertain = failures.flatMap((failure) => (failure instanceof UncertainTake ? [failure.target] : []));
  // Claims are in no intent: nothing of theirs is given back.
  const targets = [...uncertain, ...stuck].flatMap(({ owner, ...place }): IntentTarget[] =>
    owner.kind === "pod" ? [{ ...place, owner }] : [],
  );
  if (targets.length === 0 && withdrawn === undefined) {
    if (parts.held.ofAttachment(invocation).length === 0) parts.gone.set(attachmentKey(invocation), true);
    return;
  }
  const cooldownMs = loaded.config.cooldownMs ?? parts.cooldownMs;
  const intent: Intent = { containerId, interfaceName, targets, pools: [], cooldownMs, sinceMs: parts.clock.wallMs() };
  try {
    await parts.intents.add(withdrawn === undefined ? intent : joinIntents(withdrawn, intent));
    parts.wake();
  } catch (error) {
    const { podNamespace, podName } = invocation.args;
    const words = "a failed ADD may have left an address behind, which could not be recorded; the leader collects it";
    parts.log.error(words, { pod: `${podNamespace}/${podName}`, containerId, error });
  }
}
