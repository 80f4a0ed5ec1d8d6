// Many VMs at once, phase by phase: those with claims, then the same without, so that a busy minute hits both; and what each phase costs.
import { type Figures, figuresOf, rounded } from "../cni/figures.ts";
import type { BenchLab } from "../cni/lab.ts";
import type { Bill } from "../slices/bill.ts";
import type { Costs } from "../slices/growth.ts";
import type { ClaimWatch } from "./claim-watch.ts";
import type { Machine } from "./machine.ts";
import { type Phase, type PhaseRun, phases, runPhase } from "./phases.ts";
import { figuresOfPhase, type PhaseFigures, showPhase } from "./report.ts";

export interface StormPlan {
  readonly lab: BenchLab;
  readonly bill: Bill;
  readonly watch: ClaimWatch;
  readonly nodes: readonly string[];
  readonly atOnce: number;
  /** With claims, and without. */
  readonly groups: readonly { readonly name: string; readonly machines: readonly Machine[] }[];
  /** Resolves when the controller has nothing left to do. */
  readonly quiet: () => Promise<void>;
}

export interface StormPhase extends PhaseFigures {
  /** Of one VM. */
  readonly perVm: Costs;
  /** From the request for the VM until a bystander sees its claim. */
  readonly claim?: Figures;
}

export interface StormResult {
  /** Key: the group, then the phase. */
  readonly groups: Readonly<Record<string, Readonly<Partial<Record<Phase, StormPhase>>>>>;
  readonly runs: readonly PhaseRun[];
}

export async function storm(plan: StormPlan): Promise<StormResult> {
  const groups: Record<string, Partial<Record<Phase, StormPhase>>> = {};
  const runs: PhaseRun[] = [];
  for (const phase of phases) {
    for (const { name, machines } of plan.groups) {
      plan.lab.log(`${phase}: ${machines.length} VMs, ${name}, ${plan.atOnce} at once`);
      const { run, result } = await onePhase(plan, phase, machines);
      runs.push(run);
      (groups[name] ??= {})[phase] = result;
      showPhase(`${phase}, ${name}, ${plan.atOnce} at once`, result);
      console.log(`  per VM: ${JSON.stringify(result.perVm)}`);
    }
  }
  return { groups, runs };
}

async function onePhase(plan: StormPlan, phase: Phase, machines: readonly Machine[]) {
  const { bill, nodes, atOnce, quiet, watch } = plan;
  const before = await bill.reading();
  const run = await runPhase({ phase, machines, nodes, atOnce });
  await quiet();
  const after = await bill.reading();
  const isPersistent = machines[0]?.network.isPersistent === true;
  const perVm = Object.fromEntries(
    Object.entries(bill.costs(before, after)).map(([name, cost]) => [name, rounded(cost / machines.length)]),
  );
  const claim = isPersistent && phase === "first" ? claimFigures(run, watch) : undefined;
  return { run, result: { ...figuresOfPhase(run, isPersistent), perVm, ...(claim && { claim }) } };
}

function claimFigures({ steps, wallMs }: PhaseRun, watch: ClaimWatch): Figures {
  const seen = steps.flatMap(({ machine }) => {
    const ms = watch.firstSeenMs(machine.claimName);
    return ms === undefined ? [] : [ms - machine.createdMs];
  });
  return figuresOf(seen, wallMs);
}
