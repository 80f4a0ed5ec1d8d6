// One VM at a time, on every network in turn, so that a busy moment hits all of them: what a claim costs an ADD.
import { networks } from "./networks.ts";
import { type Phase, type PhaseRun, phases, runPhase } from "./phases.ts";
import { figuresOfPhase, type PhaseFigures, showPhase } from "./report.ts";
import type { ClaimStage } from "./stage.ts";

export interface TurnsResult {
  /** Key: the network, then the phase. */
  readonly groups: Readonly<Record<string, Readonly<Record<Phase, PhaseFigures>>>>;
  readonly runs: readonly PhaseRun[];
}

/** `count` VMs on each network, through every phase. */
export async function inTurns(stage: ClaimStage, prefix: string, count: number): Promise<TurnsResult> {
  const groups = networks.map((each) => stage.machines(`${prefix}-${each.name}`, each, count));
  // Each network is first as often as any other.
  const machines = Array.from({ length: count }, (_, index) =>
    groups.map((__, turn) => groups[(turn + index) % groups.length]![index]!),
  ).flat();
  const runs: PhaseRun[] = [];
  for (const phase of phases) {
    runs.push(await runPhase({ phase, machines, nodes: stage.nodes, atOnce: 1 }));
    await stage.quiet();
  }
  const figures = networks.map((network) => [
    network.name,
    Object.fromEntries(runs.map((run) => [run.phase, figuresOfPhase(run, network)])) as Record<Phase, PhaseFigures>,
  ]);
  return { groups: Object.fromEntries(figures) as TurnsResult["groups"], runs };
}

export function showTurns({ groups }: TurnsResult): void {
  for (const phase of phases) {
    for (const { name } of networks) showPhase(`${phase}, ${name}, one at a time`, groups[name]![phase]);
  }
}
