// What happens to VMs, told once and measured each time: who speaks with them meanwhile, and how long each was silent.
import { loadavg } from "node:os";

import { longest } from "../arrivals.ts";
import type { OvnLab, OvnLabOptions } from "../lab.ts";
import type { Migration } from "../migration.ts";
import type { OvnVersion } from "../packages.ts";
import type { ProbeReport } from "../probe.ts";
import { faultsOf } from "./faults.ts";

export type Zones = OvnLabOptions["zones"];

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly nodes: number;
  /** What it can be told with; the first is taken where none is asked for. */
  readonly zones: readonly Zones[];
  /** The same of the versions of OVN. */
  readonly versions: readonly OvnVersion[];
  run(lab: OvnLab, wishes: ScenarioWishes): Promise<Told>;
}

/** What can be left out: parts of what makes it work, to see what they are good for; bystanders, to measure without. */
export const parts = ["mac-binding", "announcements", "port-groups", "bystanders"] as const;
export type Part = (typeof parts)[number];

export interface ScenarioWishes {
  /** From QEMU's word that the guest runs on the target until the network follows: what Kubernetes takes to say it. */
  readonly reactionMs: number;
  readonly without: ReadonlySet<Part>;
  readonly signal: AbortSignal;
}

/** A VM as its guest sees itself. */
export interface GuestView {
  readonly vm: string;
  /** Addresses and routes, before anything happened and at the end. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The only IPv4 routes that it may have, and the IPv6 ones that it must have. */
  readonly routes: readonly string[];
}

export interface Told {
  /** VM -> the move of it that was measured; none of one that stayed. */
  readonly moves: ReadonlyMap<string, Migration>;
  /** Of those that speak with VMs to which something happens. */
  readonly probes: readonly ProbeReport[];
  /** Of those whose both ends stay where they are. */
  readonly bystanders: readonly ProbeReport[];
  readonly guests: readonly GuestView[];
  /** What else is not as the scenario says, as sentences. */
  readonly faults: readonly string[];
}

interface ProbeFigures {
  readonly from: string;
  readonly to: string;
  readonly kind: string;
  readonly gapMs: number;
  /** Beyond QEMU's downtime: what the network adds. */
  readonly beyondMs: number;
  readonly sent: number;
  readonly answered: number;
  readonly lost?: string;
}

interface MoveFigures {
  readonly vm: string;
  readonly downtimeMs: number;
  /** From the source's STOP to the target's RESUME. */
  readonly stillMs: number;
  readonly totalMs: number;
}

export interface Figures {
  readonly scenario: string;
  readonly ovn: OvnVersion;
  readonly zones: Zones;
  readonly moves: readonly MoveFigures[];
  readonly probes: readonly ProbeFigures[];
  readonly bystanders: { readonly probes: number; readonly missed: number; readonly longestGapMs: number };
  readonly lostConnections: number;
  readonly keptItsConfiguration: boolean;
  /** Empty: all was as the scenario says. */
  readonly faults: readonly string[];
  /** Of the machine, in its last minute: figures of a busy one say little. */
  readonly load: number;
}

export function figuresOf(scenario: Scenario, { ovn, zones }: Pick<Figures, "ovn" | "zones">, told: Told): Figures {
  const { moves, probes, bystanders, guests } = told;
  const own = probes.map(({ name, to, kind, gaps, sent, answered, lost }): ProbeFigures => {
    const move = moves.get(to);
    const gapMs = Math.round(longest(gaps, move?.atMs.stopped).ms);
    const beyondMs = Math.max(0, gapMs - (move?.downtimeMs ?? 0));
    return { from: name, to, kind, gapMs, beyondMs, sent, answered, ...(lost !== undefined && { lost }) };
  });
  return {
    scenario: scenario.name,
    ovn,
    zones,
    moves: [...moves].map(([vm, { downtimeMs, stillMs, totalMs }]) => ({
      vm,
      downtimeMs,
      stillMs: Math.round(stillMs),
      totalMs,
    })),
    probes: own,
    bystanders: {
      probes: bystanders.length,
      missed: bystanders.reduce((sum, { missed }) => sum + missed, 0),
      longestGapMs: Math.round(Math.max(0, ...bystanders.map(({ gaps }) => longest(gaps).ms))),
    },
    lostConnections: [...probes, ...bystanders].filter(({ kind, lost }) => kind === "tcp" && lost !== undefined).length,
    keptItsConfiguration: guests.every(({ before, after }) => before.join("\n") === after.join("\n")),
    faults: faultsOf(told),
    load: Number(loadavg()[0]!.toFixed(1)),
  };
}
