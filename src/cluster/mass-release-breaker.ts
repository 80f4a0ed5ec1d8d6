// Stops a release where too many holds, of pods or of claims, look leaked at once: a wrong view (another cluster's
// objects, an API server restored from an old snapshot) is likelier than so many leaks. Pure.

export interface BreakerLimits {
  /** Of all holds. */
  readonly shareMax: number;
  /** So few are never too many: a small cluster may lose a node. */
  readonly countMin: number;
}

const defaultBreaker: BreakerLimits = { shareMax: 0.3, countMin: 50 };

/** In a sentence why nothing may be freed; undefined: it may. */
export function heldBack(suspected: number, holds: number, limits: BreakerLimits = defaultBreaker): string | undefined {
  if (suspected <= limits.countMin || suspected <= holds * limits.shareMax) return undefined;
  return (
    `${suspected} of ${holds} held addresses look leaked at once, more than ${limits.shareMax * 100} %: nothing is freed. ` +
    "If they are leaked (holdfast check lists them), start the controller with --allow-mass-release."
  );
}
