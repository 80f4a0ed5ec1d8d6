// Where a VM is, by the set of its pods as it is now, never by the order in which anything was heard. Pure.
//
// Promised: at most one pod is active. A living pod that KubeVirt has called ready is never left for nothing: while
// there is one, somebody is active. A target that fails gives the VM back to the living source at once, whatever was
// said of the target, and whether its object is still there or not.
import { compareAge, isLiving, type Launcher } from "../objects/launcher.ts";

/** How it is known where the guest runs. */
export type Trigger =
  /** The label kubevirt.io/nodeName: after a start, and when a migration is over. */
  | "node-label"
  /** The target's annotation: the guest runs there, the migration goes on. */
  | "ready-timestamp"
  /** A frame of the guest's was seen there before KubeVirt said so. */
  | "early-sign"
  /** Nobody said it, and there is no other pod left: the source has ended. */
  | "only-one-left";

type VmState =
  /** No pod is ready, and none was. */
  | "starting"
  | "at-home"
  | "away"
  /** There is a target, and the guest is at the source. */
  | "in-progress"
  /** The guest is at the target, and the source is still there. */
  | "target-ready"
  | "failed-before-ready"
  | "failed-after-ready"
  /** Every pod has ended. */
  | "stopped"
  /** There is none. */
  | "deleted";

export interface Situation {
  readonly state: VmState;
  /** Oldest first. More than two are no reason to do nothing: the rules are the same. */
  readonly living: readonly Launcher[];
  readonly active?: Launcher;
  readonly trigger?: Trigger;
  /** Of a migration that goes on, is being ended, or has failed; where it is known. */
  readonly source?: Launcher;
  readonly target?: Launcher;
  /** An early sign stops to count at this time (wall clock), unless KubeVirt confirms it. */
  readonly recheckMs?: number;
}

export interface Surroundings {
  /** Wall clock. */
  readonly nowMs: number;
  /** Whether this node has the subnets of the VM's addresses; undefined where nobody has, or there are none. */
  readonly home: string | undefined;
}

/**
 * How long a target counts as the guest's place without KubeVirt's word after its last frame was seen. KubeVirt needs
 * two round trips to the API server; a guest that really runs there is seen again meanwhile, and then the time begins
 * anew.
 */
export const signTrustMs = 30_000;

/** `pods`: of one VM, in any order. */
export function situate(pods: readonly Launcher[], { nowMs, home }: Surroundings): Situation {
  const all = currentLife(pods).toSorted(compareAge);
  const living = all.filter(isLiving);
  const newest = living.at(-1);
  if (newest === undefined) return { state: all.length === 0 ? "deleted" : "stopped", living };
  const said = activeByKubevirt(all, living);
  if (said === undefined) return { state: "starting", living };
  const early = activeBySign(said.active, living, nowMs);
  const { active, trigger } = early ?? said;
  const base = { living, active, trigger, ...(early !== undefined && { recheckMs: early.untilMs }) };
  if (newest !== active) return { ...base, state: "in-progress", source: active, target: newest };
  const source = living.at(-2);
  if (source !== undefined) return { ...base, state: "target-ready", source, target: active };
  const failed = all.at(-1)!;
  if (failed !== active) {
    const state = failed.ready === undefined ? "failed-before-ready" : "failed-after-ready";
    return { ...base, state, source: active, target: failed };
  }
  return { ...base, state: home !== undefined && active.node === home ? "at-home" : "away" };
}

/** A VM that was started anew has a VMI of another UID: what is left of the one before is not its source. */
export function currentLife(pods: readonly Launcher[]): readonly Launcher[] {
  const living = pods.filter(isLiving);
  const newest = (living.length === 0 ? pods : living).toSorted(compareAge).at(-1);
  return pods.filter(({ instance }) => instance === newest?.instance);
}

interface Active {
  readonly active: Launcher;
  readonly trigger: Trigger;
}

function activeByKubevirt(all: readonly Launcher[], living: readonly Launcher[]): Active | undefined {
  const ready = living.findLast((each) => each.ready !== undefined && each.node !== "");
  if (ready !== undefined) return { active: ready, trigger: ready.ready! };
  // The source has ended, and virt-controller has not said yet where the guest is: it can be in no other pod.
  const [only] = living;
  const hadOther = only?.isTarget === true || all.some((each) => each !== only && each.ready !== undefined);
  const isAlone = living.length === 1 && only!.phase === "running" && only!.node !== "";
  return isAlone && hadOther ? { active: only!, trigger: "only-one-left" } : undefined;
}

/**
 * A target in which the guest was seen, by the newest sign of all. A frame seen at the source later says that it is
 * still there; after KubeVirt's word no frame from the source counts.
 */
function activeBySign(
  said: Launcher,
  living: readonly Launcher[],
  nowMs: number,
): (Active & { readonly untilMs: number }) | undefined {
  const seen = living.filter(({ phase, node, sign }) => phase === "running" && node !== "" && sign !== undefined);
  const last = seen.toSorted((a, b) => a.sign!.seenMs - b.sign!.seenMs || compareAge(b, a)).at(-1);
  if (last === undefined || compareAge(last, said) <= 0) return undefined;
  const untilMs = last.sign!.seenMs + signTrustMs;
  return untilMs > nowMs ? { active: last, trigger: "early-sign", untilMs } : undefined;
}
