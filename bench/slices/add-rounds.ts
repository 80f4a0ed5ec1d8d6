// What slice-add measures in one state of the API server: one at a time in turn, then 64 at once in rounds.
import type { Attachment, BenchPod } from "../cni/attachment.ts";
import type { Contestant } from "../cni/contestant.ts";
import type { LoadResult } from "../cni/load.ts";
import { attachmentsOf, medianRound, oneRound, type RoundFigures } from "../cni/rounds.ts";
import { showLoad } from "../cni/table.ts";
import { inTurns, type TurnsResult } from "../cni/turns.ts";

export interface AddPlan {
  /** Also begins the names of the interfaces: `up`, `stopped`. */
  readonly state: string;
  readonly inTurn: readonly Contestant[];
  readonly atOnce: readonly Contestant[];
  readonly pods: readonly BenchPod[];
  /** Calls of each, one at a time. */
  readonly count: number;
  /** What the last round of this contestant took is held when this returns. */
  readonly keep?: Contestant;
}

/** Whereabouts' slowest round of 256 took two minutes. */
const limitMs = 600_000;
const rounds = 3;
const together = 64;
const roundCalls = 256;
const warmUps = 20;

export interface AddMeasures {
  /** Key: contestant. */
  readonly oneAtATime: ReadonlyMap<string, TurnsResult>;
  readonly manyAtOnce: ReadonlyMap<string, { readonly add: RoundFigures; readonly del: RoundFigures }>;
  /** What `keep` holds: attachments, and what they were answered. */
  readonly kept: { readonly attachments: readonly Attachment[]; readonly load?: LoadResult };
}

export async function measureAdds(plan: AddPlan): Promise<AddMeasures> {
  const { state, inTurn, pods, count } = plan;
  await inTurns({ contestants: inTurn, pods: pods.slice(0, warmUps), prefix: `${state}w`, limitMs });
  const oneAtATime = await inTurns({ contestants: inTurn, pods: pods.slice(0, count), prefix: state, limitMs });
  for (const [name, { add, del }] of oneAtATime) {
    showLoad(`${name} ADD, API server ${state}`, add);
    showLoad(`${name} DEL, API server ${state}`, del);
  }
  return { oneAtATime, ...(await inRounds(plan)) };
}

async function inRounds({ state, atOnce: contestants, pods, keep }: AddPlan): Promise<Omit<AddMeasures, "oneAtATime">> {
  const loads = new Map(contestants.map(({ name }) => [name, { add: [] as LoadResult[], del: [] as LoadResult[] }]));
  let kept: AddMeasures["kept"] = { attachments: [] };
  for (let round = 1; round <= rounds; round++) {
    for (const contestant of contestants) {
      const attachments = attachmentsOf(pods.slice(0, roundCalls), `${state}r${round}`);
      const common = { contestant, attachments, atOnce: together, limitMs };
      const add = await oneRound({ ...common, command: "ADD" });
      loads.get(contestant.name)!.add.push(add);
      showLoad(`${contestant.name}, 64 at once, API server ${state}, ${round}`, add);
      assertDistinct(contestant, add);
      if (contestant === keep && round === rounds) kept = { attachments, load: add };
      else loads.get(contestant.name)!.del.push(await oneRound({ ...common, command: "DEL" }));
    }
  }
  const manyAtOnce = new Map(
    Array.from(loads, ([name, { add, del }]) => [name, { add: medianRound(add), del: medianRound(del) }]),
  );
  return { manyAtOnce, kept };
}

/** A benchmark of something wrong is worth nothing: it ends here. */
function assertDistinct({ name }: Contestant, { replies }: LoadResult): void {
  const addresses = replies.flatMap((reply) => reply?.addresses ?? []);
  const twice = addresses.filter((address, index) => addresses.indexOf(address) !== index);
  if (twice.length > 0) throw new Error(`${name} gave ${twice.slice(0, 5).join(", ")} twice in one round`);
}
