import { membersOf, networkOf } from "./membership.ts";
import { planMirror } from "./mirror.ts";
// The table of `holdfast pools`. Pure.
import { totalsOf } from "./pool-status.ts";
import type { Snapshot } from "./snapshot.ts";

export interface PoolRow {
  readonly namespace: string;
  readonly name: string;
  readonly network: string;
  readonly range: string;
  readonly total: string;
  readonly used: string;
  readonly free: string;
  /** Definitions that use it. */
  readonly definitions: readonly string[];
}

export function poolRows({ pools, held, index, networks }: Snapshot): PoolRow[] {
  const ofPool = membersOf(held, index);
  return pools.map(({ pool, range }) => {
    const members = ofPool.get(range.key) ?? [];
    const plan = planMirror(pool, members, { coexistence: false });
    const { total, used, free } = totalsOf({ pool, range, held: members, plan });
    const uses = networks.uses.filter(
      ({ namespace, names }) => namespace === range.namespace && names.includes(range.name),
    );
    return {
      namespace: range.namespace,
      name: range.name,
      network: networkOf(range),
      range: pool.spec.range,
      total: total.toString(),
      used: used.toString(),
      free: free.toString(),
      definitions: [...new Set(uses.map(({ definition }) => definition))],
    };
  });
}

/** Columns as wide as what is in them. */
export function tableLines(rows: readonly PoolRow[]): string[] {
  const cells = [
    ["NAMESPACE", "POOL", "NETWORK", "RANGE", "TOTAL", "USED", "FREE", "USED BY"],
    ...rows.map(({ namespace, name, network, range, total, used, free, definitions }) => [
      namespace,
      name,
      network || "-",
      range,
      total,
      used,
      free,
      definitions.join(",") || "-",
    ]),
  ];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}
