// A release that was promised to the runtime and is still to be done: everything that one sandbox holds on one interface.
// It frees only what carries that container id: a late replay frees nothing of a later sandbox of the same pod.
import type { Attachment } from "../cni/attachments.ts";
import type { Domain } from "../ipam/ledger.ts";
import type { PodOwner } from "../ipam/owner.ts";

/** Where a hold may have been written whose outcome nobody knows. */
export interface IntentTarget {
  readonly namespace: string;
  readonly domain: Domain;
  readonly owner: PodOwner;
}

/** A pool in which an older system may have recorded the sandbox. */
export interface IntentPool {
  readonly namespace: string;
  readonly network: string;
  /** CIDR. */
  readonly range: string;
  readonly naming: string;
  readonly protectsOverlaps: boolean;
}

export interface Intent extends Attachment {
  readonly targets: readonly IntentTarget[];
  readonly pools: readonly IntentPool[];
  readonly cooldownMs: number;
  readonly sinceMs: number;
}

export type IntentRecord =
  | { readonly op: "add"; readonly intent: Intent }
  | { readonly op: "done"; readonly key: string };

export function joinIntents(a: Intent, b: Intent): Intent {
  const join = <T>(first: readonly T[], second: readonly T[]): T[] => [
    ...new Map([...first, ...second].map((each) => [JSON.stringify(each), each])).values(),
  ];
  return { ...a, targets: join(a.targets, b.targets), pools: join(a.pools, b.pools), cooldownMs: b.cooldownMs };
}
