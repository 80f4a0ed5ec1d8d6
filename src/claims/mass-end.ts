// Stands still where the owners of very many held addresses seem to be gone at once: then it is more likely that what we see is wrong (VMs listed from
// the wrong cluster, restored with other UIDs, or not restored yet) than that so many were deleted and nobody led. The rule is that of leak collection.
//
// Promised: what a VM that lives gives back (a NIC that is unplugged), and what has no owner, is freed all the same.
import { ownershipOf } from "../api/claim-marks.ts";
import type { Clock } from "../kube/clock.ts";
import { heldBack } from "../ledger/breaker.ts";
import type { HeldClaim } from "./holds.ts";
import { ownerUidOf } from "./holds.ts";
import type { ClaimStep } from "./plan/steps.ts";

export interface MassEndOptions {
  readonly clock: Clock;
  /** All that is held for claims. */
  readonly held: () => Iterable<HeldClaim>;
  /** A VM or VMI has this UID. */
  readonly lives: (uid: string) => boolean;
  /** `--allow-mass-release`. */
  readonly isAllowed: boolean;
  /** Empty: it goes on. */
  readonly onChange: (why: string) => void;
}

/** 10,000 holds are counted in 5 ms; in between some ten are freed. */
const countEveryMs = 100;

export class MassEnd {
  readonly #options: MassEndOptions;
  #countedMs = Number.NEGATIVE_INFINITY;
  #why = "";

  constructor(options: MassEndOptions) {
    this.#options = options;
  }

  /** The step is not to be done now. */
  holdsBack(step: ClaimStep): boolean {
    const uid = endedOwner(step);
    return uid !== undefined && !this.#options.lives(uid) && this.#now() !== "";
  }

  #now(): string {
    const { clock, held, lives, isAllowed, onChange } = this.#options;
    if (isAllowed || clock.monotonicMs() - this.#countedMs < countEveryMs) return this.#why;
    this.#countedMs = clock.monotonicMs();
    let [lost, all] = [0, 0];
    for (const { hold } of held()) {
      const uid = ownerUidOf(hold);
      if (uid !== undefined && !lives(uid)) lost += 1;
      all += 1;
    }
    const why = heldBack(lost, all) ?? "";
    const isNew = (why === "") !== (this.#why === "");
    this.#why = why;
    if (isNew) onChange(why);
    return why;
  }
}

/** Whose address the step gives up, by UID; undefined: it gives up none, or nobody's. */
function endedOwner(step: ClaimStep): string | undefined {
  if (step.kind === "release") return ownerUidOf(step.hold.hold);
  if (step.kind !== "delete" && step.kind !== "drop-finalizer") return undefined;
  const ownership = ownershipOf(step.claim);
  return ownership.kind === "owned" ? ownership.uid : undefined;
}
