// The goals of slice-add, each judged where the peer was there. Pure.
import type { Figures } from "../cni/figures.ts";

/** One contestant in one state of the API server. */
export interface AddFigures {
  readonly add?: Figures;
  readonly addAtOnce?: Figures;
  readonly refused?: number;
  readonly refusedAtOnce?: number;
}

export interface AddResults {
  /** With the API server up, and stopped. */
  readonly ours: readonly AddFigures[];
  readonly hostLocal: readonly AddFigures[];
  /** With the API server up. */
  readonly whereabouts: AddFigures;
}

const goals = {
  /** Of host-local's p50, at most. */
  p50OfHostLocal: 1,
  /** Of host-local's rate with 64 at once, at least. */
  rateOfHostLocal: 1.5,
  /** whereabouts' p50 over ours, at least. */
  timesWhereabouts: 20,
  /** Our rate over whereabouts' with 64 at once, at least. */
  timesWhereaboutsAtOnce: 50,
};

/** null: the peer was not there. */
export function judgeGoals({ ours, hostLocal, whereabouts }: AddResults) {
  const [up] = ours;
  const each = (judge: (mine: AddFigures, theirs: AddFigures) => boolean | null) =>
    ours.map((mine, index) => judge(mine, hostLocal[index] ?? {})).reduce(both);
  return {
    goals,
    met: {
      noneRefused: ours.every(({ refused = 0, refusedAtOnce = 0 }) => refused + refusedAtOnce === 0),
      p50OfHostLocal: each((mine, theirs) =>
        compared(mine.add, theirs.add, (a, b) => a.p50Ms <= b.p50Ms * goals.p50OfHostLocal),
      ),
      rateOfHostLocal: each((mine, theirs) =>
        compared(mine.addAtOnce, theirs.addAtOnce, (a, b) => a.perSecond >= b.perSecond * goals.rateOfHostLocal),
      ),
      timesWhereabouts: compared(up?.add, whereabouts.add, (a, b) => b.p50Ms >= a.p50Ms * goals.timesWhereabouts),
      timesWhereaboutsAtOnce: compared(
        up?.addAtOnce,
        whereabouts.addAtOnce,
        (a, b) => a.perSecond >= b.perSecond * goals.timesWhereaboutsAtOnce,
      ),
    },
  };
}

function compared(
  mine: Figures | undefined,
  theirs: Figures | undefined,
  judge: (mine: Figures, theirs: Figures) => boolean,
): boolean | null {
  return mine === undefined || theirs === undefined ? null : judge(mine, theirs);
}

function both(a: boolean | null, b: boolean | null): boolean | null {
  return a === false || b === false ? false : (a ?? b);
}
