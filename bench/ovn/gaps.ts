// What a series of moves cost those who spoke with the VM all the time: of each move and each probe, the longest
// silence beyond the time that the guest itself stood still. Pure.
import type { Migration } from "../../test/lab/ovn/migration.ts";
import type { ProbeReport } from "../../test/lab/ovn/probe.ts";
import { quantile } from "../cni/figures.ts";

interface PlaceFigures {
  readonly from: string;
  readonly kind: string;
  readonly moves: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
}

export interface SeriesFigures {
  readonly moves: number;
  readonly stillP50Ms: number;
  /** Of the place and kind that has the worst. */
  readonly worstP50Ms: number;
  readonly worstP95Ms: number;
  readonly lostConnections: number;
  readonly places: readonly PlaceFigures[];
  /** Of the machine, at the end. */
  readonly load: number;
}

type Silence = Pick<ProbeReport, "gaps">;
type Stop = Pick<Migration, "stillMs"> & { readonly atMs: Pick<Migration["atMs"], "stopped"> };

/** One for each move, in their order; a silence belongs to the last stop before its end. */
export function beyondOf({ gaps }: Silence, moves: readonly Stop[]): readonly number[] {
  return moves.map(({ stillMs, atMs: { stopped } }, at) => {
    const untilMs = moves[at + 1]?.atMs.stopped ?? Infinity;
    const own = gaps.filter(({ fromMs, ms }) => fromMs + ms >= stopped && fromMs < untilMs && fromMs + ms < untilMs);
    return Math.max(0, Math.round(Math.max(0, ...own.map(({ ms }) => ms)) - stillMs));
  });
}

export function seriesOf(probes: readonly ProbeReport[], moves: readonly Migration[], load: number): SeriesFigures {
  const places = probes.map((probe): PlaceFigures => {
    const sorted = beyondOf(probe, moves).toSorted((a, b) => a - b);
    const { name: from, kind } = probe;
    const [p50Ms, p95Ms, maxMs] = [quantile(sorted, 0.5), quantile(sorted, 0.95), sorted.at(-1) ?? 0];
    return { from, kind, moves: sorted.length, p50Ms, p95Ms, maxMs };
  });
  const still = moves.map(({ stillMs }) => Math.round(stillMs)).toSorted((a, b) => a - b);
  return {
    moves: moves.length,
    stillP50Ms: quantile(still, 0.5),
    worstP50Ms: Math.max(0, ...places.map(({ p50Ms }) => p50Ms)),
    worstP95Ms: Math.max(0, ...places.map(({ p95Ms }) => p95Ms)),
    lostConnections: probes.filter(({ kind, lost }) => kind === "tcp" && lost !== undefined).length,
    places,
    load,
  };
}
