// Waiting for one claim to appear or to change: a watch by its name, so that who waits goes on within milliseconds.
import { type Clock, deadline, sleep } from "../../kube/clock.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { ipamClaims } from "../../ledger/resources.ts";

/** Also without a word everything is read again so often: what else is waited for (the VMI's owner) is in no watch of the claim. */
const roundMs = 2000;
/** After a watch that failed or ended: doubled from the first to the last with every round. */
const firstPauseMs = 50;
const longestPauseMs = 1000;

export interface ChangedOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
}

export interface SeenClaim {
  readonly namespace: string;
  readonly name: string;
  /** The version that was read; undefined: there was none. */
  readonly version: string | undefined;
}

/** Resolves when there is a reason to read it again. Never rejects: the read says what is wrong. `round`: how often it was called before. */
export async function untilChanged(
  { client, clock }: ChangedOptions,
  { namespace, name, version }: SeenClaim,
  round: number,
  signal: AbortSignal,
): Promise<void> {
  using limit = deadline(clock, roundMs, signal);
  // From "0" on the server tells first what is there; from a version on, what comes after it.
  const scope = { namespace, fieldSelector: `metadata.name=${name}`, resourceVersion: version ?? "0" };
  try {
    for await (const event of client.watch(ipamClaims, { ...scope, signal: limit.signal })) {
      if (event.type === "BOOKMARK") continue;
      if (event.type === "DELETED" && version === undefined) continue;
      if (event.object.metadata.resourceVersion !== version || event.type === "DELETED") return;
    }
  } catch {
    // As when it ended.
  }
  await sleep(clock, Math.min(firstPauseMs * 2 ** round, longestPauseMs), limit.signal);
}
