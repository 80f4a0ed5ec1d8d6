// What happens to a VM, told once and measured each time: who speaks with it meanwhile, and how long each was silent.
import { loadavg } from "node:os";

import { longest } from "../arrivals.ts";
import type { ClusterWishes } from "../cluster/cluster.ts";
import type { OvnGuest } from "../guest.ts";
import type { OvnLab, OvnLabOptions } from "../lab.ts";
import type { Migration } from "../migration.ts";
import type { Namespace } from "../namespace.ts";
import type { OvnVersion } from "../packages.ts";
import { Probe, type ProbeReport } from "../probe.ts";

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly nodes: number;
  readonly zones: OvnLabOptions["zones"];
  /** The versions of OVN that it can be told with; the first is taken where none is asked for. */
  readonly versions: readonly OvnVersion[];
  run(lab: OvnLab, wishes: ScenarioWishes): Promise<Told>;
}

export interface ScenarioWishes {
  /** From QEMU's word that the guest runs on the target until the network follows: what Kubernetes takes to say it. */
  readonly reactionMs: number;
  readonly without?: ClusterWishes["without"];
  readonly signal: AbortSignal;
}

/** The move that was measured, and what its witnesses say. */
export interface Told {
  readonly moved: Migration;
  readonly probes: readonly ProbeReport[];
  /** What the guest itself believed before and after it: addresses, routes. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

interface ProbeFigures {
  readonly from: string;
  readonly kind: string;
  readonly gapMs: number;
  /** Beyond QEMU's downtime: what the network adds. */
  readonly beyondMs: number;
  readonly sent: number;
  readonly answered: number;
  readonly lost?: string;
}

export interface Figures {
  readonly scenario: string;
  readonly ovn: OvnVersion;
  readonly downtimeMs: number;
  /** From the source's STOP to the target's RESUME. */
  readonly stillMs: number;
  readonly totalMs: number;
  readonly probes: readonly ProbeFigures[];
  readonly lostConnections: number;
  readonly keptItsConfiguration: boolean;
  /** Of the machine, in its last minute: figures of a busy one say little. */
  readonly load: number;
}

export function figuresOf(scenario: Scenario, ovn: OvnVersion, { moved, probes, before, after }: Told): Figures {
  const own = probes.map(({ name, kind, gaps, sent, answered, lost }): ProbeFigures => {
    const gapMs = Math.round(longest(gaps, moved.atMs.stopped).ms);
    const beyondMs = Math.max(0, gapMs - moved.downtimeMs);
    return { from: name, kind, gapMs, beyondMs, sent, answered, ...(lost !== undefined && { lost }) };
  });
  return {
    scenario: scenario.name,
    ovn,
    downtimeMs: moved.downtimeMs,
    stillMs: Math.round(moved.stillMs),
    totalMs: moved.totalMs,
    probes: own,
    lostConnections: own.filter(({ kind, lost }) => kind === "tcp" && lost !== undefined).length,
    keptItsConfiguration: before.join("\n") === after.join("\n"),
    load: Number(loadavg()[0]!.toFixed(1)),
  };
}

/** One connection and pings from each; resolves when every one of them was answered. */
export async function witnesses(address: string, places: Readonly<Record<string, Namespace>>): Promise<Probe[]> {
  return await Promise.all(
    Object.entries(places).flatMap(([name, from]) =>
      (["tcp", "icmp"] as const).map((kind) => Probe.start({ name, from, kind, address })),
    ),
  );
}

export async function configuration(guest: OvnGuest): Promise<string[]> {
  return [...(await guest.addresses()), ...(await guest.routes())];
}
