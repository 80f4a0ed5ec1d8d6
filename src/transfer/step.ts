// A migration as a list of steps. Each is a value that says what is there before and after, so that it can be done again
// after a crash at any point: what is done is recognised by the state of the cluster, never by a counter.
//
// The order is what makes a crash harmless: a new object is there before the old one goes, and records of addresses come
// before the pool that hands out from them.
import type { IPPool } from "../api/ip-pool.ts";
import type { DefinitionEdit } from "./definition-edit.ts";
import type { Plan } from "./plan.ts";
import type { AddressObject } from "./record-object.ts";

export type Moved = IPPool | AddressObject;

export type Step =
  | { readonly do: "create"; readonly object: Moved }
  /** `before` is what it was; anything else there is a change by somebody else. */
  | { readonly do: "replace"; readonly before: Moved; readonly after: Moved }
  | { readonly do: "edit"; readonly edit: Pick<DefinitionEdit, "key" | "before" | "after"> }
  | { readonly do: "delete"; readonly object: Moved };

/** Steps of one phase may be done in any order, several at once. */
export interface Phase {
  readonly about: string;
  readonly steps: readonly Step[];
}

export function phasesOf(plan: Plan): Phase[] {
  return [
    {
      about: "create records of addresses",
      steps: plan.records.flatMap(({ after }): Step[] =>
        after === undefined ? [] : [{ do: "create", object: after }],
      ),
    },
    {
      about: "create pools",
      steps: plan.pools.map(({ existing, after }): Step =>
        existing === undefined ? { do: "create", object: after } : { do: "replace", before: existing, after },
      ),
    },
    { about: "change definitions", steps: plan.edits.map((edit): Step => ({ do: "edit", edit })) },
    { about: "delete old records", steps: plan.records.map(({ before }): Step => ({ do: "delete", object: before })) },
    {
      about: "delete old pools",
      steps: plan.pools.flatMap(({ from }) => from.map((object): Step => ({ do: "delete", object }))),
    },
  ];
}

/**
 * The way back, in the same order: old objects first, then the definitions, then the new ones go. What the destination had
 * before stays as it was.
 */
export function phasesBack(plan: Plan): Phase[] {
  return [
    {
      about: "restore records of addresses",
      steps: plan.records.map(({ before }): Step => ({ do: "create", object: before })),
    },
    {
      about: "restore pools",
      steps: plan.pools.flatMap(({ from }) => from.map((object): Step => ({ do: "create", object }))),
    },
    {
      about: "restore definitions",
      steps: plan.edits.map(({ key, before, after }): Step => ({
        do: "edit",
        edit: { key, before: after, after: before },
      })),
    },
    {
      about: "delete moved records",
      steps: plan.records.flatMap(({ after }): Step[] =>
        after === undefined ? [] : [{ do: "delete", object: after }],
      ),
    },
    {
      about: "delete moved pools",
      steps: plan.pools.map(({ existing, after }): Step =>
        existing === undefined ? { do: "delete", object: after } : { do: "replace", before: after, after: existing },
      ),
    },
  ];
}

/** For people: one line. */
export function describeStep(step: Step): string {
  if (step.do === "edit") return `edit NetworkAttachmentDefinition ${step.edit.key}`;
  const { kind, metadata } = step.do === "replace" ? step.after : step.object;
  return `${step.do} ${kind} ${metadata.namespace}/${metadata.name}`;
}
