// The figures of a phase. Pure.
import { type Figures, figuresOf, rounded } from "../cni/figures.ts";
import { showFigures } from "../cni/table.ts";
import type { VmNetwork } from "./networks.ts";
import { type Phase, type PhaseRun, phases } from "./phases.ts";

export interface PhaseFigures {
  /** From the request for the VMI or the target pod to the CNI call's answer; of a stop until everything is gone. */
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
export function figuresOfPhase({ steps, wallMs }: PhaseRun, network: VmNetwork): PhaseFigures {
  const own = steps.filter(({ machine }) => machine.network === network);
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

/** Key: the phase. */
export type PhaseTable = Readonly<Partial<Record<Phase, PhaseFigures>>>;

/** What a claim costs: p50 and p99 with one, less those without; of the CNI call, and of the whole. */
export function differences(withClaim: PhaseTable, plain: PhaseTable) {
  return Object.fromEntries(
    phases.flatMap((phase) => {
      const [a, b] = [withClaim[phase], plain[phase]];
      if (a === undefined || b === undefined) return [];
      const of = (what: "call" | "whole", quantile: "p50Ms" | "p99Ms") =>
        rounded(a[what][quantile] - b[what][quantile]);
      const each = {
        callP50Ms: of("call", "p50Ms"),
        callP99Ms: of("call", "p99Ms"),
        wholeP50Ms: of("whole", "p50Ms"),
        wholeP99Ms: of("whole", "p99Ms"),
      };
      return [[phase, each] as const];
    }),
  );
}

export function showPhase(what: string, { whole, call, retries, refused, problems }: PhaseFigures): void {
  showFigures(`${what}, CNI call`, call);
  showFigures(`${what}, whole`, whole);
  if (retries > 0) console.log(`${"".padEnd(44)} ${retries} sandboxes were tried again`);
  if (refused > 0) console.log(`${"".padEnd(44)} ${refused} refused: ${problems.join(" | ")}`);
}
