// What `holdfast check --repair` does about claims: it holds what a claim shows and nobody holds. Nothing is freed here: only the leader
// frees what a claim has.
import { restsOf } from "../ledger/state.ts";
import type { ClaimFinding } from "./examine.ts";
import type { PerformOptions } from "./hold-writes.ts";
import type { Move } from "./move.ts";
import { perform } from "./perform.ts";
import type { ClaimsSnapshot } from "./snapshot.ts";

export interface Repaired {
  readonly isDone: boolean;
  /** A sentence: what was done, or why not. */
  readonly words: string;
}

export async function repairClaims(
  { state }: Pick<ClaimsSnapshot, "state">,
  findings: readonly ClaimFinding[],
  options: PerformOptions,
): Promise<ReadonlyMap<ClaimFinding, Repaired>> {
  const rests = restsOf(state);
  const repaired = new Map<ClaimFinding, Repaired>();
  for (const finding of findings) {
    const { repair } = finding;
    if (repair === undefined) continue;
    const words = { isDone: false, words: `No claim gets an address now (${rests}): try again afterwards.` };
    repaired.set(finding, rests === "" ? await repairOne(repair, options) : words);
  }
  return repaired;
}

async function repairOne(move: Move, options: PerformOptions): Promise<Repaired> {
  try {
    const result = await perform(move, options);
    if (result.outcome !== "done") return { isDone: false, words: `Left: ${result.why}.` };
    return { isDone: true, words: `${result.addresses.join(" and ")} is held for the claim now.` };
  } catch (error) {
    return { isDone: false, words: error instanceof Error ? error.message : String(error) };
  }
}

/** Addresses that a repair here holds for a claim: nobody else is to hold them for the claim's pod. */
export function repairedAddresses(findings: readonly ClaimFinding[]): ReadonlySet<string> {
  return new Set(
    findings.flatMap(({ repair }) => (repair?.take ?? []).map(({ place, address }) => `${place.domain} ${address}`)),
  );
}
