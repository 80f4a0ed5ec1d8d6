// A migration as a list of steps. Each is a value that says what is there before and after, so that it can be repeated
// after a crash at any point: the cluster's state, never a counter, says what is done. The order makes a crash
// harmless: a new object is there before the old one goes, and records before the pool that hands out from them.
import type { IPPool } from "../../api/pools/ip-pool.ts";
import type { AddressObject } from "../record/record-object.ts";
import type { DefinitionEdit } from "./definition-edit.ts";
import type { Plan } from "./plan.ts";
import { objectId } from "./survey.ts";

export type Moved = IPPool | AddressObject;

export type Step =
  | { readonly kind: "create"; readonly object: Moved }
  /** `before` is what it was; anything else there is a change by somebody else. */
  | { readonly kind: "replace"; readonly before: Moved; readonly after: Moved }
  | { readonly kind: "edit"; readonly edit: Pick<DefinitionEdit, "key" | "before" | "after"> }
  | { readonly kind: "delete"; readonly object: Moved };

/** Steps of one phase may be done in any order, several at once. */
export interface Phase {
  readonly about: string;
  readonly steps: readonly Step[];
}

export function phasesOf({ pools, records, edits }: Plan): Phase[] {
  return [
    { about: "create records of addresses", steps: records.flatMap(({ after }) => (after ? [created(after)] : [])) },
    {
      about: "create pools",
      steps: pools.map(({ existing, after }) => (existing ? replaced(existing, after) : created(after))),
    },
    { about: "change definitions", steps: edits.map(({ key, before, after }) => edited(key, before, after)) },
    { about: "delete old records", steps: records.map(({ before }) => deleted(before)) },
    { about: "delete old pools", steps: pools.flatMap(({ from }) => from.map(deleted)) },
  ];
}

/** The way back, in the same order: old objects first, then definitions, then the new ones go. The rest stays. */
export function phasesBack({ pools, records, edits }: Plan): Phase[] {
  return [
    { about: "restore records of addresses", steps: records.map(({ before }) => created(before)) },
    { about: "restore pools", steps: pools.flatMap(({ from }) => from.map(created)) },
    { about: "restore definitions", steps: edits.map(({ key, before, after }) => edited(key, after, before)) },
    { about: "delete moved records", steps: records.flatMap(({ after }) => (after ? [deleted(after)] : [])) },
    {
      about: "delete moved pools",
      steps: pools.map(({ existing, after }) => (existing ? replaced(after, existing) : deleted(after))),
    },
  ];
}

const created = (object: Moved): Step => ({ kind: "create", object });
const deleted = (object: Moved): Step => ({ kind: "delete", object });
const replaced = (before: Moved, after: Moved): Step => ({ kind: "replace", before, after });
const edited = (key: string, before: string, after: string): Step => ({ kind: "edit", edit: { key, before, after } });

/** For people: one line. */
export function describeStep(step: Step): string {
  if (step.kind === "edit") return `edit NetworkAttachmentDefinition ${step.edit.key}`;
  return `${step.kind} ${objectId(step.kind === "replace" ? step.after : step.object)}`;
}
