// The phases of every VM, one after the other: made and started for the first time, stopped, started again, migrated.
//
// Measured is a user's wait. Later writes of KubeVirt and the kubelet (statuses, the end of a migration's source) come
// when all VMs of the phase are through, so that they do not disturb the measurement of the next one.
import { runLoad } from "../cni/load.ts";
import type { Reply } from "../cni/reply.ts";
import type { Answer } from "./audit.ts";
import type { Attached, Machine } from "./machine.ts";

export const phases = ["first", "stop", "start", "migrate"] as const;
export type Phase = (typeof phases)[number];

export interface PhasePlan {
  readonly phase: Phase;
  readonly machines: readonly Machine[];
  readonly nodes: readonly string[];
  readonly atOnce: number;
}

interface PhaseStep {
  readonly machine: Machine;
  /** When the VMI, or the target pod, was asked for. */
  readonly beganMs: number;
  /** From then until the CNI call was answered; of a stop until VMI and pods are gone. */
  readonly wholeMs: number;
  /** The CNI call: ADD, or DEL of a stop. */
  readonly reply: Reply;
  readonly retries: number;
}

export interface PhaseRun {
  readonly phase: Phase;
  readonly steps: readonly PhaseStep[];
  readonly wallMs: number;
}

/** A quarter of an hour for a thousand, as bad as it may be. */
const limitMs = 900_000;

export async function runPhase({ phase, machines, nodes, atOnce }: PhasePlan): Promise<PhaseRun> {
  const attached: Attached[] = [];
  const steps: PhaseStep[] = [];
  const run = async (index: number): Promise<Reply> => {
    const machine = machines[index]!;
    // Another node than before, each time.
    const node = nodes[(index + phases.indexOf(phase)) % nodes.length]!;
    const done = phase === "stop" ? await stopped(machine) : await started(phase, machine, node);
    if (phase !== "stop") attached[index] = done;
    steps.push({ machine, beganMs: done.beganMs, wholeMs: done.tookMs, reply: done.add, retries: done.retries });
    return done.add;
  };
  const { wallMs } = await runLoad({ count: machines.length, atOnce, limitMs, call: run });
  if (phase !== "stop") await afterwards(phase, machines, attached, atOnce);
  if (steps.length < machines.length)
    throw new Error(`only ${steps.length} of ${machines.length} VMs came through ${phase}`);
  return { phase, steps, wallMs };
}

async function started(phase: Exclude<Phase, "stop">, machine: Machine, node: string): Promise<Attached> {
  if (phase === "first") await machine.create();
  return phase === "migrate" ? machine.migrate(node) : machine.start(node);
}

async function stopped(machine: Machine): Promise<Attached> {
  const beganMs = performance.now();
  const add = await machine.stop();
  return { beganMs, tookMs: performance.now() - beganMs, add, retries: 0 };
}

async function afterwards(
  phase: Phase,
  machines: readonly Machine[],
  attached: readonly Attached[],
  atOnce: number,
): Promise<void> {
  const call = async (index: number): Promise<Reply> => {
    await machines[index]!.ran(attached[index]!);
    if (phase === "migrate") await machines[index]!.left();
    return attached[index]!.add;
  };
  await runLoad({ count: machines.length, atOnce, limitMs, call });
}

/** What VMs on the persistent network were answered, for the audit. */
export function answersOf(runs: readonly PhaseRun[]): Answer[] {
  return runs
    .filter(({ phase }) => phase !== "stop")
    .flatMap(({ phase, steps }) =>
      steps
        .filter(({ machine, reply }) => machine.network.isPersistent && reply.problem === undefined)
        .map(({ machine, reply }) => ({ vm: machine.name, phase, addresses: reply.addresses })),
    );
}
