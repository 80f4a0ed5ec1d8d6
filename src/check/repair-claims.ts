// `holdfast check --repair` for claims: what a claim shows and nobody holds is held for it. Nothing is freed here: only the leader frees what a claim has.
import type { PerformOptions } from "../claims/moves/hold-writes.ts";
import type { Move } from "../claims/moves/move.ts";
import { perform } from "../claims/moves/perform.ts";
import type { ClaimsSnapshot } from "../claims/moves/snapshot.ts";
import { restsOf } from "../cluster/state.ts";
import type { Finding } from "./finding.ts";
import type { Done } from "./repair.ts";

export async function repairClaims(
  { state }: Pick<ClaimsSnapshot, "state">,
  findings: readonly Finding[],
  options: PerformOptions,
): Promise<ReadonlyMap<Finding, Done>> {
  const rests = restsOf(state);
  const repaired = new Map<Finding, Done>();
  for (const finding of findings) {
    const { repair } = finding;
    if (repair?.repair !== "hold-for-claim") continue;
    const words = { isDone: false, words: `No claim gets an address now (${rests}): try again afterwards.` };
    repaired.set(finding, rests === "" ? await repairOne(repair.move, options) : words);
  }
  return repaired;
}

async function repairOne(move: Move, options: PerformOptions): Promise<Done> {
  try {
    const result = await perform(move, options);
    if (result.outcome !== "done") return { isDone: false, words: `Left: ${result.why}.` };
    return { isDone: true, words: `${result.addresses.join(" and ")} is held for the claim now.` };
  } catch (error) {
    return { isDone: false, words: error instanceof Error ? error.message : String(error) };
  }
}

/** Addresses that a repair here holds for a claim: nobody else is to hold them for the claim's pod. */
export function repairedAddresses(findings: readonly Finding[]): ReadonlySet<string> {
  return new Set(
    findings.flatMap(({ repair }) =>
      repair?.repair === "hold-for-claim"
        ? repair.move.take.map(({ place, address }) => `${place.domain} ${address}`)
        : [],
    ),
  );
}
