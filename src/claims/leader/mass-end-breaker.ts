// The breaker of claims: ends nothing where the VMs of very many held addresses seem to be gone at once. A wrong list
// (VMs of another cluster, restored with other UIDs, or not restored yet) is likelier than so many deletions. The
// limits are those of leak collection. Promised: each namespace has its own breaker; one alone stops no other. Where
// three or more lose VMs, or no VM is listed at all, the list is in doubt and nothing ends anywhere; two may be one
// tenant's. It lets go when the VMs are back, and by an operator's word: as many as the namespace's annotation says, or
// all by --allow-mass-release. NICs unplugged from a living VM, and holds without an owner, are freed all the same.
import { massReleaseAnnotation } from "../../api/claims/claim-marks.ts";
import { type BreakerLimits, heldBack } from "../../cluster/mass-release-breaker.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import type { Clock } from "../../kube/clock.ts";
import { counted } from "../../net/counted.ts";
import type { ClaimStep } from "../plan/steps.ts";
import { ownerUidsOf } from "./caches.ts";
import { ownerUidOf } from "./claim-holds.ts";

export interface MassEndOptions {
  readonly clock: Clock;
  readonly held: () => Iterable<RecordedHold>;
  /** A VM or VMI has this UID. */
  readonly lives: (uid: string) => boolean;
  /** No VM and no VMI is listed. */
  readonly isNobodyListed: () => boolean;
  /** How many addresses of a namespace an operator lets go at once. Undefined: there is no such namespace. */
  readonly allowed: (namespace: string) => number | undefined;
  readonly isAllowed: boolean;
  /** `namespace` is empty where it is about all of them. `why` is empty: it goes on. */
  readonly onChange: (namespace: string, why: string) => void;
}

interface Loss {
  held: number;
  /** Their VM is gone, and no word covers it. */
  lost: number;
}

/** 10,000 holds are counted in 5 ms; in between some ten are freed. */
const countEveryMs = 100;
const everywhere = "";
/** What namespaces beside the two biggest losers may lose without the list being in doubt. */
const smallChange: BreakerLimits = { shareMax: 0.3, countMin: 10 };

/** Whether a step is held back. */
export function massEndBreaker(options: MassEndOptions): (step: ClaimStep) => boolean {
  const { clock, lives, isNobodyListed, allowed, isAllowed, onChange } = options;
  let countedMs = Number.NEGATIVE_INFINITY;
  /** Namespace, or `everywhere` -> why nothing of it is ended. */
  let stopped: ReadonlyMap<string, string> = new Map();
  const look = () => {
    if (clock.monotonicMs() - countedMs < countEveryMs) return;
    countedMs = clock.monotonicMs();
    const before = stopped;
    stopped = stoppedBy(lossesOf(options), isNobodyListed(), (namespace) => allowed(namespace) === undefined);
    for (const [namespace, why] of stopped) if (!before.has(namespace)) onChange(namespace, why);
    for (const namespace of before.keys()) if (!stopped.has(namespace)) onChange(namespace, "");
  };
  return (step) => {
    const ended = endedBy(step);
    if (ended === undefined || isAllowed || lives(ended.owner)) return false;
    look();
    return stopped.has(everywhere) || stopped.has(ended.namespace);
  };
}

function lossesOf({ held, lives, allowed }: MassEndOptions): ReadonlyMap<string, Loss> {
  const losses = new Map<string, Loss>();
  for (const { hold } of held()) {
    const loss = losses.get(hold.owner.namespace) ?? { held: 0, lost: 0 };
    const uid = ownerUidOf(hold);
    losses.set(hold.owner.namespace, loss);
    loss.held += 1;
    if (uid !== undefined && !lives(uid)) loss.lost += 1;
  }
  for (const [namespace, loss] of losses) if (loss.lost > 0 && loss.lost <= (allowed(namespace) ?? 0)) loss.lost = 0;
  return losses;
}

function stoppedBy(
  losses: ReadonlyMap<string, Loss>,
  isNobodyListed: boolean,
  isMissing: (namespace: string) => boolean,
): ReadonlyMap<string, string> {
  const stopped = new Map<string, string>();
  for (const [namespace, { held, lost }] of losses) {
    if (heldBack(lost, held) === undefined) continue;
    const what = `the VMs of ${lost} of ${counted(held, "address")} of namespace ${namespace} seem to be gone at once`;
    const word = isMissing(namespace)
      ? `The namespace is missing too: if it is being restored, wait; if it was deleted, kubectl create namespace ${namespace}, then delete it again`
      : `If they were deleted: kubectl annotate --overwrite namespace ${namespace} ${massReleaseAnnotation}=${lost}`;
    stopped.set(namespace, `${what}: nothing of theirs is freed. ${word}.`);
  }
  const all = [...losses.values()].toSorted((a, b) => b.lost - a.lost);
  if (!isInDoubt(all, isNobodyListed)) return stopped;
  const { lost, held } = sum(all);
  const count = all.filter((each) => each.lost > 0).length;
  const what = `the VMs of ${lost} of ${counted(held, "address")} in ${counted(count, "namespace")} seem to be gone at once`;
  const some = [...losses].some(([namespace, each]) => each.lost > 0 && isMissing(namespace));
  const again = some ? " (make those that are missing, and delete them, again)" : "";
  const word = `annotate the namespaces${again}, or start the controller with --allow-mass-release`;
  return stopped.set(everywhere, `${what}: no claim of a VM that is gone is ended. If they were deleted: ${word}.`);
}

/** `all`: the biggest loss first. One tenant may delete all it has in two namespaces; a third is no coincidence. */
function isInDoubt(all: readonly Loss[], isNobodyListed: boolean): boolean {
  const doubted = sum(isNobodyListed ? all : all.slice(1));
  if (heldBack(doubted.lost, doubted.held) === undefined) return false;
  const third = sum(all.slice(2));
  return isNobodyListed || heldBack(third.lost, third.held, smallChange) !== undefined;
}

function sum(losses: readonly Loss[]): Loss {
  return losses.reduce((a, b) => ({ held: a.held + b.held, lost: a.lost + b.lost }), { held: 0, lost: 0 });
}

/** Whose address the step gives up; undefined: it gives up none, or nobody's. */
function endedBy(step: ClaimStep): { readonly namespace: string; readonly owner: string } | undefined {
  if (step.kind === "release") {
    const owner = ownerUidOf(step.hold.hold);
    return owner === undefined ? undefined : { namespace: step.hold.hold.owner.namespace, owner };
  }
  if (step.kind !== "delete" && step.kind !== "drop-finalizer") return undefined;
  const [owner] = ownerUidsOf(step.claim);
  return owner === undefined ? undefined : { namespace: step.claim.metadata.namespace ?? "", owner };
}
