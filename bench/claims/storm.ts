// Many VMs at once, phase by phase, one network after the other, so that a busy minute hits all; and each phase's cost.
import { type Figures, figuresOf, rounded } from "../cni/figures.ts";
import type { BenchLab } from "../cni/lab.ts";
import type { Bill } from "../slices/bill.ts";
import type { Costs } from "../slices/growth.ts";
import type { ClaimWatch } from "./claim-watch.ts";
import type { Machine } from "./machine.ts";
import type { VmNetwork } from "./networks.ts";
import { type Phase, type PhaseRun, phases, runPhase } from "./phases.ts";
import { figuresOfPhase, type PhaseFigures, showPhase } from "./report.ts";

export interface StormPlan {
  readonly lab: BenchLab;
  readonly bill: Bill;
  readonly watch: ClaimWatch;
  readonly nodes: readonly string[];
  readonly atOnce: number;
  readonly groups: readonly { readonly network: VmNetwork; readonly machines: readonly Machine[] }[];
  /** Resolves when the controller has nothing left to do. */
  readonly quiet: () => Promise<void>;
}

interface StormPhase extends PhaseFigures {
  /** Of one VM. */
  readonly perVm: Costs;
  /** Of all VMs, by kind. */
  readonly daemonRequests: Readonly<Record<string, number>>;
  readonly controllerRequests: Readonly<Record<string, number>>;
  /** From the request for the VM until a bystander sees its claim. */
  readonly claim?: Figures;
}

export interface StormResult {
  /** Key: the network, then the phase. */
  readonly groups: Readonly<Record<string, Readonly<Partial<Record<Phase, StormPhase>>>>>;
  readonly runs: readonly PhaseRun[];
}

export async function storm(plan: StormPlan): Promise<StormResult> {
  const groups: Record<string, Partial<Record<Phase, StormPhase>>> = {};
  const runs: PhaseRun[] = [];
  for (const phase of phases) {
    for (const { network, machines } of plan.groups) {
      const { name } = network;
      plan.lab.log(`${phase}: ${machines.length} VMs, ${name}, ${plan.atOnce} at once`);
      const { run, result } = await onePhase(plan, phase, network, machines);
      runs.push(run);
      (groups[name] ??= {})[phase] = result;
      showPhase(`${phase}, ${name}, ${plan.atOnce} at once`, result);
      console.log(`  per VM: ${JSON.stringify(result.perVm)}`);
      console.log(
        `  of all: daemons ${JSON.stringify(result.daemonRequests)}, controller ${JSON.stringify(result.controllerRequests)}`,
      );
    }
  }
  return { groups, runs };
}

async function onePhase(plan: StormPlan, phase: Phase, network: VmNetwork, machines: readonly Machine[]) {
  const { bill, nodes, atOnce, quiet, watch } = plan;
  const before = await bill.reading();
  const run = await runPhase({ phase, machines, nodes, atOnce });
  await quiet();
  const after = await bill.reading();
  const perVm = Object.fromEntries(
    Object.entries(bill.costs(before, after)).map(([name, cost]) => [name, rounded(cost / machines.length)]),
  );
  const claim = network.isPersistent && phase === "first" ? claimFigures(run, watch) : undefined;
  const result: StormPhase = {
    ...figuresOfPhase(run, network),
    perVm,
    daemonRequests: bill.daemonRequests(before, after),
    controllerRequests: bill.controllerRequests(before, after),
    ...(claim && { claim }),
  };
  return { run, result };
}

function claimFigures({ steps, wallMs }: PhaseRun, watch: ClaimWatch): Figures {
  const seen = steps.flatMap(({ machine }) => {
    const ms = watch.firstSeenMs(machine.claimName);
    return ms === undefined ? [] : [ms - machine.createdMs];
  });
  return figuresOf(seen, wallMs);
}
