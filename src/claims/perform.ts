// Carries out one move: the claim, its holds, its marks. Every write is guarded by what was read.
//
// Promised: the addresses of a NIC move all or none; what was written before a failure is taken back, guarded as well. At no moment is an
// address that was held nobody's: where its claim is gone or going, it is noted as the living owner's before anything else. Not promised:
// that a claim which had to be made goes again (the leader would make the same); and what became of a write whose answer was lost.
// Whoever calls again finds what is there, and goes on.
import type { StoredClaim } from "../ledger/resources.ts";
import { claimFor, mark, unmark } from "./claim-writes.ts";
import { type Done, Passing, take } from "./hold-writes.ts";
import type { Move } from "./move.ts";
import { type PerformOptions, Stopped } from "./writing.ts";

export type Performed =
  | { readonly outcome: "done"; readonly claim: StoredClaim; readonly addresses: readonly string[] }
  /** Somebody wrote meanwhile: look and plan again. */
  | { readonly outcome: "changed"; readonly why: string }
  /** It will not be otherwise in a moment. */
  | { readonly outcome: "refused"; readonly why: string };

export async function perform(move: Move, options: PerformOptions): Promise<Performed> {
  const { signal } = options;
  const passing = move.pass.map((each) => new Passing(each, options));
  const taken: Done[] = [];
  let marked: StoredClaim | undefined;
  try {
    // Nothing but its note keeps an address whose claim is gone or goes: a leader may be about to free it.
    if (isMade(move)) for (const each of passing) await each.note(move, signal);
    const made = await claimFor(move, options);
    if (move.first === "claim") marked = await mark(move, made, options);
    for (const each of passing) await each.pass(move, marked ?? made, signal);
    for (const each of move.take) taken.push(await take(move, marked ?? made, each, options));
    const claim = marked ?? (await mark(move, made, options));
    return { outcome: "done", claim, addresses: [...passing, ...taken].map(({ hold }) => `${hold.address}`) };
  } catch (error) {
    // What a leader does with an address that is the new owner's already is what we would have done: the next plan sees the rest.
    const isChanged = error instanceof Stopped && error.outcome === "changed";
    if (!isChanged || move.first === "holds") await takeBack(move, [...passing, ...taken], marked, options);
    if (error instanceof Stopped) return { outcome: error.outcome, why: error.message };
    throw error;
  }
}

function isMade({ claim }: Move): boolean {
  return claim.change === "create" || claim.change === "replace";
}

async function takeBack(move: Move, done: readonly Done[], marked: StoredClaim | undefined, options: PerformOptions) {
  for (const each of done.toReversed()) await each.undo();
  if (marked !== undefined) await unmark(move, marked, options);
}
