// A plan for people: what moves, what follows, what must be edited, what is left, what stands against it.
import { counted } from "../../net/counted.ts";
import type { Plan } from "./plan.ts";
import { objectId } from "./survey.ts";

/** Objects of one kind that are listed one by one; beyond, they are counted. */
const listedMax = 20;

export function showPlan(plan: Plan): string[] {
  const lines: string[] = [];
  for (const { from, after, existing, definitions } of plan.pools) {
    const entries = counted(Object.keys(after.spec.allocations).length, "entry");
    for (const pool of from) lines.push(`- ${objectId(pool)}`);
    const about = `(${after.spec.range}, ${entries}; ${definitions.join(", ")})`;
    lines.push(`${existing === undefined ? "+" : "~"} ${objectId(after)}  ${about}`);
  }
  const shown = plan.records.slice(0, listedMax);
  for (const { before, after } of shown) {
    lines.push(`- ${objectId(before)}`);
    lines.push(after === undefined ? "  (its address is recorded there already)" : `+ ${objectId(after)}`);
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
  else {
    const { pools, records, edits } = plan;
    const addresses = counted(records.length, "record of an address", "records of addresses");
    const changes = `${counted(pools.length, "pool")}, ${addresses} and ${counted(edits.length, "definition")}`;
    lines.push("", `Changes: ${changes}.`);
  }
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
