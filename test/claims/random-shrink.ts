// Makes a failing random run smaller: fewer steps, fewer users. Each user draws from a source of its own: the others'
// choices stay. Waits between choices are not in the seed: a smaller run gets several tries before it passes.

export interface Trial {
  readonly steps: number;
  /** Names of users, or "faults". */
  readonly without: readonly string[];
}

export interface ShrinkOptions {
  readonly trial: Trial;
  /** Everybody who may be left out. */
  readonly users: readonly string[];
  readonly fails: (trial: Trial) => Promise<boolean>;
  /** Default: 3. */
  readonly tries?: number;
}

/** The smallest that was seen to fail. Given one that fails. */
export async function shrink({ trial, users, fails, tries = 3 }: ShrinkOptions): Promise<Trial> {
  const surely = async (each: Trial) => {
    for (let count = 0; count < tries; count++) if (await fails(each)) return true;
    return false;
  };
  let best = await fewerSteps(trial, surely);
  for (const user of users.filter((each) => !trial.without.includes(each))) {
    const smaller = { ...best, without: [...best.without, user] };
    if (smaller.without.length < users.length && (await surely(smaller))) best = smaller;
  }
  return best.without.length === trial.without.length ? best : fewerSteps(best, surely);
}

/** By halves, to a tenth of what is left. */
async function fewerSteps(trial: Trial, fails: (trial: Trial) => Promise<boolean>): Promise<Trial> {
  let [low, high] = [0, trial.steps];
  while (high - low > Math.max(1, high / 10)) {
    const steps = Math.floor((low + high) / 2);
    if (await fails({ ...trial, steps })) high = steps;
    else low = steps;
  }
  return { ...trial, steps: high };
}
