// Decide, commit, answer: the one way in which an address is handed out, whatever the ledger.
//
// The pool is this process's picture of the domain; the ledger is the truth. A candidate is marked in the picture while its
// hold is being written, so that requests of one process do not compete with each other. Nothing past the commit rolls it
// back: a caller that fails later asks again and gets the same address.
import { equal } from "../net/address.ts";
import type { Random } from "../net/draw.ts";
import { contains } from "../net/prefix.ts";
import { decide } from "./decide.ts";
import { type Domain, type Hold, type Ledger, LedgerError, type TakeOutcome } from "./ledger.ts";
import { describeOwner, ownerKey, sameOwner } from "./owner.ts";
import type { Pool } from "./pool.ts";
import type { Candidate, Refusal, Request } from "./request.ts";

export interface Acquisition {
  readonly ledger: Ledger;
  readonly domain: Domain;
  readonly pool: Pool;
  readonly request: Request;
  readonly random: Random;
  readonly signal?: AbortSignal;
  /**
   * Ask the ledger what the owner holds before deciding. Leave out where the picture has every hold of this owner, as it has
   * of the pods of its own node: it costs a read.
   */
  readonly lookFirst?: boolean;
}

export interface Acquired {
  readonly kind: "acquired";
  readonly hold: Hold;
  /** It was still cooling down: say so in an event. */
  readonly early: boolean;
  /** Takes that found the address held or cooling: how far the picture was behind. */
  readonly conflicts: number;
}

/**
 * At most this many addresses are tried. With the spread strategy the width doubles each time, so that after 12 misses
 * the choice is among thousands; who still finds nothing has a picture too old to be of use and should read it anew.
 */
const triesMax = 64;
/** At most this many lost replies in a row: beyond, the ledger is away, and the runtime's own retry is the better one. */
const lossesMax = 5;

export async function acquire(acquisition: Acquisition): Promise<Acquired | Refusal> {
  const { pool, request, random, lookFirst = false } = acquisition;
  if (lookFirst) {
    const hold = await findEarlier(acquisition);
    if (hold !== undefined) pool.learn(hold.address, hold.owner);
  }
  let conflicts = 0;
  while (conflicts < triesMax) {
    const decision = decide(pool, request, random);
    if (decision.kind === "refusal") return decision;
    for (const candidate of chain(decision, decision.further())) {
      if (!stillOpen(acquisition, candidate)) break; // the picture moved while a take was under way: decide anew
      const result = await commit(acquisition, candidate);
      if (result.outcome === "taken" || result.outcome === "yours") {
        return { kind: "acquired", hold: result.hold, early: candidate.early, conflicts };
      }
      conflicts += 1;
      if (conflicts === triesMax) break;
    }
  }
  return crowded(pool);
}

/** False where another request of this process has taken the candidate since, or got an address for this very owner. */
function stillOpen({ pool, request }: Acquisition, { address }: Candidate): boolean {
  const holder = pool.ownerAt(address);
  const mine = pool.addressOf(request.owner);
  return (holder === undefined || sameOwner(holder, request.owner)) && (mine === undefined || equal(mine, address));
}

/** Writes the hold of one candidate, and lets the picture follow what the ledger says. */
async function commit(acquisition: Acquisition, { address, early }: Candidate): Promise<TakeOutcome> {
  const { domain, pool, request } = acquisition;
  const before = pool.ownerAt(address);
  pool.take(address, request.owner);
  try {
    const result = await takeSurely(acquisition, { address, early });
    if (result.outcome === "cooling") {
      pool.forget(address);
      pool.cool({ address, untilMs: result.untilMs, lastOwner: result.lastOwner });
    } else {
      pool.learn(result.hold.address, result.hold.owner);
    }
    return result;
  } catch (error) {
    // Not written, as far as anyone knows. If it was, the owner's next request finds it in the ledger.
    if (before === undefined) pool.forget(address);
    else pool.learn(address, before);
    throw error instanceof LedgerError
      ? new LedgerError(error.code, `${describeOwner(request.owner)} got no address in ${domain}: ${error.message}`, {
          cause: error,
        })
      : error;
  }
}

/** A take whose reply was lost is read back before anything else is tried; only then is the same address tried again. */
async function takeSurely(acquisition: Acquisition, { address, early }: Candidate): Promise<TakeOutcome> {
  const { ledger, domain, request, signal } = acquisition;
  const options = signal === undefined ? {} : { signal };
  for (let losses = 0; ;) {
    try {
      return await ledger.take({ domain, address, owner: request.owner, early }, options);
    } catch (error) {
      if (!(error instanceof LedgerError) || error.code !== "outcome-unknown") throw error;
      losses += 1;
      if (losses === lossesMax) throw error;
      const hold = await findEarlier(acquisition);
      if (hold !== undefined) return { outcome: "yours", hold };
    }
  }
}

/** What the owner holds in the domain, inside this pool's prefix: in a domain of several ranges it may hold one in each. */
async function findEarlier({ ledger, domain, pool, request, signal }: Acquisition): Promise<Hold | undefined> {
  const holds = await ledger.find(domain, ownerKey(request.owner), signal === undefined ? {} : { signal });
  return holds.find(({ address }) => contains(pool.definition.prefix, address));
}

function* chain(first: Candidate, rest: Iterable<Candidate>): IterableIterator<Candidate> {
  yield first;
  yield* rest;
}

function crowded(pool: Pool): Refusal {
  return {
    kind: "refusal",
    code: "exhausted",
    message:
      `${triesMax} addresses of ${pool.definition.prefix} in a row were taken by others first: ` +
      "the picture of the pool is old. Try again.",
    trace: () => [],
  };
}
