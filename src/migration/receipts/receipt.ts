// What is on record of one migration: made from the states that were seen, one after the other, and from what the pods
// say themselves. Pure. A process that begins in the middle makes a receipt too, of what is left to see, and says so.
import type { Launcher } from "../objects/launcher.ts";
import type { Situation, Trigger } from "../plan/situation.ts";

export type Step =
  | { readonly step: "target-created" | "guest-seen" | "target-ready"; readonly atMs: number }
  /** The rows say that the guest is at the target, or at the source again. `tookMs`: from the look to the last row. */
  | {
      readonly step: "switched" | "switched-back";
      readonly atMs: number;
      readonly trigger?: Trigger;
      readonly tookMs: number;
    }
  | { readonly step: "over"; readonly atMs: number };

type End = "succeeded" | "failed-before-ready" | "failed-after-ready" | "vm-stopped";

interface Place {
  readonly pod: string;
  readonly uid: string;
  readonly node: string;
}

export interface Receipt {
  readonly namespace: string;
  readonly vm: string;
  /** Of the VMI. */
  readonly instance: string;
  /** Undefined: it was gone when this was begun. */
  readonly source: Place | undefined;
  readonly target: Place;
  readonly steps: readonly Step[];
  /** Undefined: it goes on. */
  readonly end: End | undefined;
  /** False: begun by a process that did not see the guest leave. Its times are then "by then at the latest". */
  readonly isWhole: boolean;
  /** As the daemon's own probe measured it. */
  readonly gapMs?: number;
}

export interface Sight {
  readonly namespace: string;
  readonly vm: string;
  readonly situation: Situation;
  /** Wall clock, when the rows were as the situation wants them, and how long that took. */
  readonly atMs: number;
  readonly tookMs: number;
}

export interface Recorded {
  /** Of the migration that goes on. */
  readonly open: Receipt | undefined;
  readonly ended: readonly Receipt[];
}

/** `isRecorded`: whether a receipt of this target is on record already, by whoever led before. */
export function record(open: Receipt | undefined, sight: Sight, isRecorded: (target: Launcher) => boolean): Recorded {
  const { state, active, target } = sight.situation;
  if (state === "in-progress" || state === "target-ready") {
    const isSame = open?.target.uid === target!.uid;
    const ended = open === undefined || isSame ? [] : [end(open, sight, failureOf(open))];
    return { open: follow(isSame ? open : begin(sight), sight), ended };
  }
  const failed = state === "failed-before-ready" || state === "failed-after-ready";
  const moved = (state === "at-home" || state === "away") && active!.isTarget ? active : undefined;
  const about = failed ? target : moved;
  if (open !== undefined) {
    const how = state === "stopped" || state === "deleted" ? "vm-stopped" : failureOf(open);
    const isHere = active?.uid === open.target.uid;
    const known = about?.uid === open.target.uid && failed ? state : how;
    return { open: undefined, ended: [end(follow(open, sight), sight, isHere ? "succeeded" : known)] };
  }
  if (about === undefined || isRecorded(about)) return { open: undefined, ended: [] };
  // It was over before this process looked for the first time.
  return { open: undefined, ended: [end(follow(begin(sight, about), sight), sight, failed ? state : "succeeded")] };
}

function begin({ namespace, vm, situation }: Sight, target = situation.target!): Receipt {
  const { source, state } = situation;
  return {
    namespace,
    vm,
    instance: target.instance,
    source: source && placeOf(source),
    target: placeOf(target),
    steps: [{ step: "target-created", atMs: target.createdMs }],
    end: undefined,
    isWhole: state === "in-progress",
  };
}

/** What the situation adds. */
function follow(receipt: Receipt, { situation, atMs, tookMs }: Sight): Receipt {
  const steps = [...receipt.steps];
  const has = (step: Step["step"]) => steps.some((each) => each.step === step);
  const target = [situation.target, situation.active].find((each) => each?.uid === receipt.target.uid);
  if (target?.sign !== undefined && !has("guest-seen")) steps.push({ step: "guest-seen", atMs: target.sign.seenMs });
  if (target?.ready !== undefined && !has("target-ready"))
    steps.push({ step: "target-ready", atMs: target.readyMs ?? atMs });
  const isThere = situation.active !== undefined && situation.active.uid === receipt.target.uid;
  const wasThere = steps.findLast(({ step }) => step.startsWith("switched"))?.step === "switched";
  const trigger = situation.trigger && { trigger: situation.trigger };
  if (isThere && !wasThere) steps.push({ step: "switched", atMs, ...trigger, tookMs });
  if (!isThere && wasThere && situation.active !== undefined)
    steps.push({ step: "switched-back", atMs, ...trigger, tookMs });
  const place = target === undefined ? receipt.target : placeOf(target);
  return { ...receipt, target: place, steps };
}

function failureOf({ steps }: Receipt): End {
  return steps.some(({ step }) => step === "target-ready") ? "failed-after-ready" : "failed-before-ready";
}

function end(receipt: Receipt, { atMs }: Sight, how: End): Receipt {
  return { ...receipt, steps: [...receipt.steps, { step: "over", atMs }], end: how };
}

function placeOf({ name: pod, uid, node }: Launcher): Place {
  return { pod, uid, node };
}
