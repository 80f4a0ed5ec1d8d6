// Decide, commit, answer: the one way in which an address is handed out, whatever the ledger. The pool is this
// process's picture of the domain; the ledger is the truth. The picture marks a candidate while its hold is written, so
// that requests of one process do not compete. Nothing rolls a commit back: a caller that fails later asks again, gets
// the same address.
import { type Address, equal } from "../net/address.ts";
import type { Random } from "../net/draw.ts";
import { contains } from "../net/prefix.ts";
import { decide } from "./decide.ts";
import { describeDomain, type Domain, type Hold, type HoldNote, type Ledger, LedgerError } from "./ledger.ts";
import type { TakeOutcome, TakeRequest } from "./ledger.ts";
import { describeOwner, formerKey, type Owner, ownerKey, sameOwner, succeeds } from "./owner.ts";
import type { AddressState, Pool } from "./pool.ts";
import type { Candidate, Grant, Refusal, Request } from "./request.ts";
import { turnsOf } from "./turns.ts";

export interface Acquisition {
  readonly ledger: Ledger;
  readonly domain: Domain;
  readonly pool: Pool;
  readonly request: Request;
  readonly random: Random;
  readonly signal?: AbortSignal;
  /** Ask the ledger for the owner's holds first: a read. Not needed if the picture has them, as for its node's pods. */
  readonly lookFirst?: boolean;
  /** What to keep with the hold: from the decision that led to the candidate. */
  readonly note?: (grant: Grant, candidate: Candidate) => HoldNote;
  /** What goes with every take. `early`: it was asked for by its number, so its cooldown is over. */
  readonly terms?: Pick<TakeRequest, "early" | "loose" | "users">;
  /** Asked before every write; its error is the answer. A LedgerError "unavailable" leaves the picture as it was. */
  readonly mayTake?: () => void;
  /** Told what the ledger said of every candidate. */
  readonly onOutcome?: (outcome: TakeOutcome, address: Address) => void;
  /** Waited for after a conflict, where another address will do: a cheap way to tell the pool what else is taken. */
  readonly lookAgain?: () => Promise<void>;
}

export interface Acquired {
  readonly kind: "acquired";
  readonly hold: Hold;
  /** This request made the hold. */
  readonly isNew: boolean;
  /** It was still cooling down: say so in an event. */
  readonly early: boolean;
  /** Takes that found the address held or cooling: how far the picture was behind. */
  readonly conflicts: number;
}

export interface Refused extends Refusal {
  readonly conflicts: number;
}

/** Addresses tried at most: beyond, the picture is too old to be of use and should be read anew. */
const triesMax = 64;
/** Lost replies in a row at most: beyond, the ledger is away, and the runtime's own retry is better. */
const lossesMax = 5;

export function acquire(acquisition: Acquisition): Promise<Acquired | Refused> {
  const { pool, request, random, lookFirst = false, signal } = acquisition;
  const { owner } = request;
  return turnsOf(pool).run(ownerKey(owner), signal, async () => {
    if (acquisition.terms?.early === true && request.want?.kind === "given") endRest(pool, request.want.address, owner);
    if (lookFirst) {
      const hold = await findEarlier(acquisition, pool.addressOf(owner));
      // A record without a UID is this owner's (`succeeds`): the picture knows it under the owner that asks.
      if (hold !== undefined) pool.learn(hold.address, succeeds(owner, hold.owner) ? owner : hold.owner);
    }
    const { kind = "any" } = request.want ?? {};
    const isChoosing = kind === "any" || kind === "preferred";
    let conflicts = 0;
    while (conflicts < triesMax) {
      const decision = decide(pool, request, random);
      if (decision.kind === "refusal") return { ...decision, conflicts };
      for (const offered of chain(decision, decision.further())) {
        if (!stillOpen(acquisition, offered)) break; // the picture moved while a take was under way: decide anew
        const candidate = asTriedBefore(pool, offered);
        const result = await commit(acquisition, candidate, acquisition.note?.(decision, candidate));
        if (result.outcome === "taken" || result.outcome === "yours") {
          const isNew = result.outcome === "taken";
          return { kind: "acquired", hold: result.hold, isNew, early: candidate.early, conflicts };
        }
        conflicts += 1;
        if (conflicts === triesMax) break;
        if (isChoosing) await acquisition.lookAgain?.();
      }
    }
    const message =
      `${triesMax} addresses of ${pool.definition.prefix} in a row were taken by others first: ` +
      "the picture of the pool is old. Try again.";
    return { kind: "refusal", conflicts, code: "exhausted", message, trace: () => [] };
  });
}

function endRest(pool: Pool, address: Address, owner: Owner): void {
  // An owner that has another is refused.
  if (pool.stateOf(address).state !== "quarantined" || pool.addressOf(owner) !== undefined) return;
  pool.take(address, owner);
  pool.forget(address);
}

/** False where another request of this process has taken the candidate since, or got an address for this very owner. */
function stillOpen({ pool, request }: Acquisition, { address }: Candidate): boolean {
  const holder = pool.ownerAt(address);
  const mine = pool.addressOf(request.owner);
  return (holder === undefined || sameOwner(holder, request.owner)) && (mine === undefined || equal(mine, address));
}

/**
 * Marks of acquire: the address that an owner asks for, and, after an unknown outcome, may hold. What the ledger says
 * of other addresses does not displace them. The mark -> whether the address was asked for early.
 */
const marks = new WeakMap<Owner, boolean>();

/** An unknown outcome is asked for again alike: without `early`, the first try could still come true beside it. */
function asTriedBefore(pool: Pool, { address, early }: Candidate): Candidate {
  const owner = pool.ownerAt(address);
  return { address, early: early || (owner !== undefined && marks.get(owner) === true) };
}

/** Writes the hold of one candidate, and lets the picture follow what the ledger says. */
async function commit(acquisition: Acquisition, candidate: Candidate, note?: HoldNote): Promise<TakeOutcome> {
  const { address, early } = candidate;
  const { domain, pool, request, signal } = acquisition;
  signal?.throwIfAborted();
  const before = pool.stateOf(address);
  const mark = { ...request.owner };
  marks.set(mark, early);
  pool.take(address, mark);
  /** Other calls may have learnt better while the hold was being written. */
  const marked = () => pool.ownerAt(address) === mark;
  try {
    const result = await takeSurely(acquisition, candidate, note);
    if (marked()) pool.forget(address);
    if (result.outcome === "cooling") {
      pool.cool({ address, untilMs: result.untilMs, lastOwner: result.lastOwner });
    } else if (result.outcome !== "held" || !isMarked(pool, result.hold.owner)) {
      pool.learn(result.hold.address, result.hold.owner);
    }
    return result;
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    // Certainly not written: as before. Otherwise it may be, now or soon, and the mark stays: this owner's next request
    // tries the same address again, and its release takes the mark away.
    if (error.code === "unavailable" && marked()) restore(pool, address, before);
    const words = `${describeOwner(request.owner)} got no address in ${describeDomain(domain)}: ${error.message}`;
    throw new LedgerError(error.code, words, { cause: error });
  }
}

function isMarked(pool: Pool, owner: Owner): boolean {
  const address = pool.addressOf(owner);
  return address !== undefined && marks.has(pool.ownerAt(address)!);
}

function restore(pool: Pool, address: Address, before: AddressState): void {
  if (before.state === "allocated") return pool.learn(address, before.owner);
  pool.forget(address);
  if (before.state === "quarantined") pool.cool({ address, untilMs: before.untilMs, lastOwner: before.lastOwner });
}

/**
 * After a lost reply of a take: a read, then a take of the address that was found, or of the same. A read alone is no
 * answer: the hold may lack what a ledger writes beside it, or carry an older container, whose late release would free
 * the address under the new one. Only a take arbitrates.
 */
async function takeSurely(acquisition: Acquisition, candidate: Candidate, note?: HoldNote): Promise<TakeOutcome> {
  const { ledger, domain, request, terms, signal, mayTake } = acquisition;
  const early = candidate.early || terms?.early === true;
  let { address } = candidate;
  for (let losses = 0; ;) {
    try {
      if (losses > 0) address = (await findEarlier(acquisition, address))?.address ?? address;
      mayTake?.();
      const hold = { domain, address, owner: request.owner, ...terms, early, ...(note && { note }) };
      const outcome = await ledger.take(hold, { ...(signal && { signal }), ...(mayTake && { mayTake }) });
      acquisition.onOutcome?.(outcome, address);
      return outcome;
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      if (error.code !== "outcome-unknown") {
        if (losses === 0) throw error;
        // This failure was certainly not carried out; an earlier try, whose reply was lost, may have been.
        throw new LedgerError("outcome-unknown", `a reply was lost, and then: ${error.message}`, { cause: error });
      }
      losses += 1;
      if (losses === lossesMax) throw error;
    }
  }
}

/**
 * The owner's hold in the domain, inside this pool's prefix: it may have one in each of several ranges. Where prefixes
 * overlap, or a late write left two, the one that was tried or that the picture knows comes first.
 */
async function findEarlier(
  { ledger, domain, pool, request, signal }: Acquisition,
  preferred: Address | undefined,
): Promise<Hold | undefined> {
  const options = { formerly: formerKey(request.owner), ...(signal && { signal }) };
  const holds = await ledger.find(domain, ownerKey(request.owner), options);
  return (
    holds.find(({ address }) => preferred !== undefined && equal(address, preferred)) ??
    holds.find(({ address }) => contains(pool.definition.prefix, address))
  );
}

function* chain(first: Candidate, rest: Iterable<Candidate>): IterableIterator<Candidate> {
  yield first;
  yield* rest;
}
