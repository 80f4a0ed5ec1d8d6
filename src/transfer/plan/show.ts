// A plan for people: what moves, what follows, what must be edited, what is left, what stands against it.
import type { Plan } from "./plan.ts";
import { objectKey } from "./survey.ts";

/** Objects of one kind that are listed one by one; beyond, they are counted. */
const listedMax = 20;

export function showPlan(plan: Plan): string[] {
  const lines: string[] = [];
  for (const { from, after, existing, definitions } of plan.pools) {
    const count = Object.keys(after.spec.allocations).length;
    for (const pool of from) lines.push(`- IPPool ${objectKey(pool)}`);
    lines.push(
      `${existing === undefined ? "+" : "~"} IPPool ${objectKey(after)}  (${after.spec.range}, ${count} entries; ${definitions.join(", ")})`,
    );
  }
  const shown = plan.records.slice(0, listedMax);
  for (const { before, after } of shown) {
    lines.push(`- ${before.kind} ${objectKey(before)}`);
    lines.push(
      after === undefined ? "  (its address is recorded there already)" : `+ ${after.kind} ${objectKey(after)}`,
    );
  }
  if (plan.records.length > shown.length)
    lines.push(`  ... and ${plan.records.length - shown.length} more records of addresses`);
  for (const { key, changes } of plan.edits) {
    lines.push(`~ NetworkAttachmentDefinition ${key}`);
    for (const { key: field, before, after } of changes) {
      if (before !== undefined) lines.push(`    - "${field}": ${JSON.stringify(before)}`);
      if (after !== undefined) lines.push(`    + "${field}": ${JSON.stringify(after)}`);
    }
  }
  if (lines.length === 0) lines.push("Nothing to do: every pool is where it should be.");
  else lines.push("", summaryOf(plan));
  for (const [title, list] of [
    ["Left as they are", plan.unmatched],
    ["Conflicts: nothing is applied before these are settled", plan.conflicts],
  ] as const) {
    if (list.length === 0) continue;
    lines.push("", `${title}:`);
    for (const { message, fix } of list) lines.push(`  ${message}`, `    ${fix}`);
  }
  return lines;
}

function summaryOf({ pools, records, edits }: Plan): string {
  return `${pools.length} pools, ${records.length} records of addresses and ${edits.length} definitions change.`;
}
