// What `holdfast migrations` shows: receipts as they stand on targets' pods, and migrations that go on. Pure. A receipt
// lasts as long as its pod: KubeVirt keeps those of a VMI's last five migrations.
import { z } from "zod";

import { readJson } from "../../api/fields.ts";
import type { Pod } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { columnLines } from "../../log/columns.ts";
import { type Launcher, readLauncher, receiptAnnotation } from "../objects/launcher.ts";
import { situate } from "../plan/situation.ts";
import { groupByVm } from "../plan/vm-names.ts";

const step = z.looseObject({
  step: z.string(),
  at: z.string(),
  trigger: z.string().optional(),
  tookMs: z.number().optional(),
});
/** As receipt-text.ts writes it. */
const receipt = z.looseObject({
  end: z.string(),
  from: z.looseObject({ node: z.string() }).optional(),
  to: z.looseObject({ node: z.string(), pod: z.string() }),
  isWhole: z.boolean().optional(),
  gapMs: z.number().optional(),
  steps: z.array(step),
});

interface Shown {
  /** RFC 3339. */
  readonly at: string;
  readonly step: string;
  readonly trigger?: string | undefined;
  readonly tookMs?: number | undefined;
}

export interface MigrationRow {
  readonly namespace: string;
  readonly vm: string;
  /** The target's. */
  readonly pod: string;
  /** Null: it was gone when this was put on record. */
  readonly from: string | null;
  readonly to: string;
  /** `in-progress` and `target-ready` go on; the rest is over. */
  readonly state: string;
  /** By what it was known that the guest runs at the target; null: it did not, or nobody told. */
  readonly trigger: string | null;
  /** When the rows named the target, and how long that took; null: they did not. */
  readonly switchedAt: string | null;
  readonly tookMs: number | null;
  /** The longest silence, where it was measured. */
  readonly gapMs: number | null;
  /** False: whoever recorded it began in the middle. */
  readonly isWhole: boolean;
  readonly steps: readonly Shown[];
}

export interface MigrationFilter {
  readonly namespace?: string | undefined;
  readonly vm?: string | undefined;
}

/** Oldest first. `nowMs`: wall clock. */
export function migrationRows(
  pods: readonly DeepReadonly<Pod>[],
  nowMs: number,
  filter: MigrationFilter = {},
): readonly MigrationRow[] {
  const launchers = pods.flatMap((pod) => {
    const launcher = readLauncher(pod);
    return launcher === undefined ? [] : [{ launcher, text: pod.metadata.annotations?.[receiptAnnotation] }];
  });
  const over = launchers.flatMap(({ launcher, text }) => (text === undefined ? [] : (rowOf(launcher, text) ?? [])));
  const goingOn = [...Map.groupBy(launchers, ({ launcher }) => launcher.namespace).values()].flatMap((all) =>
    [...groupByVm(all.map(({ launcher }) => launcher)).values()].flatMap((each) => openRow(each, nowMs) ?? []),
  );
  return [...over, ...goingOn]
    .filter(({ namespace, vm }) => (filter.namespace ?? namespace) === namespace && (filter.vm ?? vm) === vm)
    .toSorted((a, b) => compareText(beganAt(a), beganAt(b)) || compareText(a.pod, b.pod));
}

function rowOf({ namespace, vm, name: pod }: Launcher, text: string): MigrationRow | undefined {
  const read = readJson(receipt, text);
  if (read === undefined) return undefined;
  const { end: state, from, to, isWhole = false, gapMs, steps } = read;
  const switched = steps.findLast((each) => each.step === "switched");
  return {
    namespace,
    vm,
    pod,
    from: from?.node ?? null,
    to: to.node,
    state,
    trigger: switched?.trigger ?? null,
    switchedAt: switched?.at ?? null,
    tookMs: switched?.tookMs ?? null,
    gapMs: gapMs ?? null,
    isWhole,
    steps,
  };
}

/** One that is not on record yet. */
function openRow(pods: readonly Launcher[], nowMs: number): MigrationRow | undefined {
  const { state, source, target, trigger } = situate(pods, { nowMs, home: undefined });
  const goesOn = state === "in-progress" || state === "target-ready";
  if (!goesOn || target === undefined || target.isRecorded) return undefined;
  const { namespace, vm, name: pod, node: to, createdMs } = target;
  return {
    namespace,
    vm,
    pod,
    from: source?.node ?? null,
    to,
    state,
    trigger: state === "target-ready" ? (trigger ?? null) : null,
    switchedAt: null,
    tookMs: null,
    gapMs: null,
    isWhole: true,
    steps: [{ step: "target-created", at: new Date(createdMs).toISOString() }],
  };
}

function beganAt({ steps }: MigrationRow): string {
  return steps[0]?.at ?? "";
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** `12 ms`; `-` where it is not known. */
const msText = (ms: number | null) => (ms === null ? "-" : `${Math.round(ms)} ms`);

export function migrationLines(rows: readonly MigrationRow[]): readonly string[] {
  return columnLines([
    ["NAMESPACE", "VM", "FROM", "TO", "STATE", "BEGAN", "SWITCHED", "TOLD BY", "ROWS", "GAP"],
    ...rows.map((row) => [
      row.namespace,
      row.vm,
      row.from ?? "-",
      row.to === "" ? "-" : row.to,
      row.state,
      beganAt(row) || "-",
      // Begun in the middle: it was so by then at the latest.
      row.switchedAt === null ? "-" : `${row.isWhole ? "" : "by "}${row.switchedAt}`,
      row.trigger ?? "-",
      msText(row.tookMs),
      msText(row.gapMs),
    ]),
  ]);
}
