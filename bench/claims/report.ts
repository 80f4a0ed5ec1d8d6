// The figures of a phase. Pure.
import { type Figures, figuresOf } from "../cni/figures.ts";
import { showFigures } from "../cni/table.ts";
import type { PhaseRun } from "./phases.ts";

export interface PhaseFigures {
  /** From the request for the VMI, or for the target pod, until the CNI call was answered; of a stop until everything is gone. */
  readonly whole: Figures;
  /** The CNI call alone, as the daemon's caller sees it. */
  readonly call: Figures;
  readonly retries: number;
  readonly refused: number;
  /** The first few reasons, each once. */
  readonly problems: readonly string[];
}

const problemsShown = 5;

/** Of the VMs of one network. */
export function figuresOfPhase({ steps, wallMs }: PhaseRun, isPersistent: boolean): PhaseFigures {
  const own = steps.filter(({ machine }) => machine.network.isPersistent === isPersistent);
  const good = own.filter(({ reply }) => reply.problem === undefined);
  const problems = new Set(own.flatMap(({ reply }) => reply.problem ?? []));
  return {
    whole: figuresOf(
      good.map(({ wholeMs }) => wholeMs),
      wallMs,
    ),
    call: figuresOf(
      good.map(({ reply }) => reply.tookMs),
      wallMs,
    ),
    retries: own.reduce((sum, { retries }) => sum + retries, 0),
    refused: own.length - good.length,
    problems: [...problems].slice(0, problemsShown),
  };
}

export function showPhase(what: string, { whole, call, retries, refused, problems }: PhaseFigures): void {
  showFigures(`${what}, CNI call`, call);
  showFigures(`${what}, whole`, whole);
  if (retries > 0) console.log(`${"".padEnd(44)} ${retries} sandboxes were tried again`);
  if (refused > 0) console.log(`${"".padEnd(44)} ${refused} refused: ${problems.join(" | ")}`);
}
