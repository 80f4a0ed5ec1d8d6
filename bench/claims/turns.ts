// One VM at a time, with a claim and without in turn, so that a busy moment of the machine hits both: what a claim costs an ADD.
import { persistent, plain } from "./networks.ts";
import { type Phase, type PhaseRun, phases, runPhase } from "./phases.ts";
import { figuresOfPhase, type PhaseFigures, showPhase } from "./report.ts";
import type { ClaimStage } from "./stage.ts";

export interface TurnsResult {
  readonly withClaim: Readonly<Record<Phase, PhaseFigures>>;
  readonly plain: Readonly<Record<Phase, PhaseFigures>>;
  readonly runs: readonly PhaseRun[];
}

/** `count` VMs on each network, through every phase. */
export async function inTurns(stage: ClaimStage, prefix: string, count: number): Promise<TurnsResult> {
  const [kept, passing] = [persistent, plain].map((each) => stage.machines(`${prefix}-${each.name}`, each, count));
  // Each is first every other time.
  const machines = kept!.flatMap((each, index) =>
    index % 2 === 0 ? [each, passing![index]!] : [passing![index]!, each],
  );
  const runs: PhaseRun[] = [];
  for (const phase of phases) {
    runs.push(await runPhase({ phase, machines, nodes: stage.nodes, atOnce: 1 }));
    await stage.quiet();
  }
  const figures = (isPersistent: boolean) =>
    Object.fromEntries(runs.map((run) => [run.phase, figuresOfPhase(run, isPersistent)])) as Record<
      Phase,
      PhaseFigures
    >;
  return { withClaim: figures(true), plain: figures(false), runs };
}

export function showTurns({ withClaim, plain: passing }: TurnsResult): void {
  for (const phase of phases) {
    showPhase(`${phase}, claims, one at a time`, withClaim[phase]);
    showPhase(`${phase}, plain, one at a time`, passing[phase]);
  }
}
