// whereabouts' own leases, held as its leader election holds them: one for the cluster, one for every node slice.
// Writers that honour them wait. Kept until released; after a crash they bind for an hour, or until the migration goes
// on.
import { type Clock, deadline, sleep } from "../../kube/clock.ts";
import { LeaseLock } from "../../kube/lease.ts";
import { TransferError } from "../error.ts";
import type { FenceOptions } from "./fence-pause.ts";

export interface LeasesOptions extends FenceOptions {
  /** Where whereabouts keeps its pools, and its leases. */
  readonly poolNamespace: string;
  readonly names: readonly string[];
}

export interface HeldLeases {
  /** Aborts with a TransferError if one of them was lost. */
  readonly lost: AbortSignal;
  /** Stops renewing and lets them bind on: something is half moved, and the same migration must go on with it. */
  leave(): Promise<void>;
  /** Stops renewing and gives them up. */
  release(signal: AbortSignal): Promise<void>;
}

/** Newer clients wait this long after the last renewal that they saw, older ones 1.5 s: hence the renewals. */
const leaseDurationMs = 3600_000;
/** whereabouts' own retry period: a third of its lease. */
const renewEveryMs = 500;
/** Its candidates try every 500 to 1,100 ms; whoever tries more often gets it when it falls free. */
const tryEveryMs = 50;
const callTimeoutMs = 10_000;
/** An ADD of whereabouts may hold its lease for two minutes at most. */
const patienceMs = 150_000;

export async function holdLeases(options: LeasesOptions): Promise<HeldLeases> {
  const { clock, signal } = options;
  const locks = locksOf(options);
  const lost = new AbortController();
  const stop = new AbortController();
  const held: Lock[] = [];
  // The first is renewed while the last is waited for.
  const renewing = renew(held, clock, stop.signal, lost);
  const leave = async () => {
    stop.abort();
    await renewing;
  };
  const release = async (releaseSignal: AbortSignal) => {
    await leave();
    for (const { lock } of held) await lock.release(releaseSignal, callTimeoutMs);
  };
  try {
    for (const each of locks) {
      await acquire(each, clock, AbortSignal.any([signal, lost.signal]));
      held.push(each);
    }
  } catch (error) {
    using limit = deadline(clock, callTimeoutMs);
    await release(limit.signal);
    throw error;
  }
  return { lost: lost.signal, leave, release };
}

/** Gives up those that a dead process of this migration still holds; others' stay theirs. */
export async function dropLeases(options: LeasesOptions): Promise<void> {
  const { signal } = options;
  for (const { lock } of locksOf(options)) {
    if (await lock.tryHold(signal, callTimeoutMs)) await lock.release(signal, callTimeoutMs);
  }
}

type Lock = { readonly name: string; readonly lock: LeaseLock };

function locksOf({ client, clock, poolNamespace: namespace, names, id }: LeasesOptions): Lock[] {
  const rest = { client, namespace, identity: `holdfast-migrate/${id}`, leaseDurationMs, clock };
  return names.map((name) => ({ name, lock: new LeaseLock({ ...rest, name }) }));
}

async function acquire({ lock, name }: Lock, clock: Clock, signal: AbortSignal): Promise<void> {
  const untilMs = clock.monotonicMs() + patienceMs;
  while (!(await lock.tryHold(signal, callTimeoutMs))) {
    if (clock.monotonicMs() > untilMs) {
      const words = `The Lease ${name} is held by ${lock.holder} for ${patienceMs / 1000} s: stop whoever that is, and try again.`;
      throw new TransferError("not-quiet", words);
    }
    if (!(await sleep(clock, tryEveryMs, signal))) signal.throwIfAborted();
  }
}

async function renew(held: readonly Lock[], clock: Clock, stop: AbortSignal, lost: AbortController): Promise<void> {
  while (await sleep(clock, renewEveryMs, stop)) {
    for (const { name, lock } of held) {
      try {
        if (await lock.tryHold(stop, callTimeoutMs)) continue;
        const words = `The Lease ${name} was taken by ${lock.holder || "somebody"} while the migration held it.`;
        return lost.abort(new TransferError("not-quiet", words));
      } catch {
        // The server could not be asked this time; the lease binds for an hour, and the next round asks again.
        if (stop.aborted) return;
      }
    }
  }
}
