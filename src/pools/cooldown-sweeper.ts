// Deletes the objects of addresses that have cooled down. Each delete is guarded by uid and resourceVersion: an object
// that an owner has taken back meanwhile stays.
import { preconditionsOf } from "../api/holds/version.ts";
import { holds, reservations } from "../cluster/resources.ts";
import { inParallel } from "../kube/in-parallel.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";
import { type Removal, removeObject } from "../ledger/reservation/guarded-delete.ts";
import { describeHeld, type PoolHold } from "./pool-hold.ts";
import { everyRound, type Work } from "./rounds.ts";

const every = { what: "deleting what has cooled", ms: 1000 };
/** At once; with 4 ms a delete, about 2,000 a second at most. */
const parallel = 8;
/** In one round: more wait for the next, a second later. */
const roundMax = 1000;

export function sweepCooled(work: Work, signal: AbortSignal): Promise<void> {
  const { caches, client, clock, isPaused, log } = work;
  return everyRound(work, every, signal, async () => {
    const nowMs = clock.wallMs();
    const due = caches.holdsByPool.all().filter(({ cooling }) => cooling !== undefined && cooling.untilMs <= nowMs);
    await inParallel(parallel, due.take(roundMax).toArray(), async (held) => {
      if (signal.aborted || (await isPaused?.(signal)) === true) return;
      await removeHeld(client, held, signal).catch((error: unknown) => {
        if (signal.aborted) return;
        log.warn("a cooled address could not be removed; it is tried again", { object: describeHeld(held), error });
      });
    });
  });
}

/** The very state that was read. */
export async function removeHeld(client: KubeClient, held: PoolHold, signal: AbortSignal): Promise<Removal> {
  const { kind, namespace, name, hold } = held;
  const resource: Resource = kind === "Hold" ? holds : reservations;
  return removeObject(client, resource, { metadata: { namespace, name, ...preconditionsOf(hold.version) } }, signal);
}
