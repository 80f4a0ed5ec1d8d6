// Which definitions a claim means by the name of its network alone. Names are anybody's to use: a definition of another tenant that has the
// same one must not change where, how long or whether an address of this claim is held. Pure.

/** Namespaces whose definitions only administrators write: `--trusted-namespaces` of the controller. */
export type Trusted = Pick<ReadonlySet<string>, "has">;

export function trustedByDefault(systemNamespace: string): Trusted {
  return new Set([systemNamespace, "default"]);
}

/** 0: of the claim's own namespace; 1: an administrator's; 2: another tenant's. The nearest are meant. */
export function distanceOf(definition: string, claim: string, trusted: Trusted): number {
  if (definition === claim) return 0;
  return trusted.has(definition) ? 1 : 2;
}

/** Those that are nearest to the claim. */
export function nearest<T>(all: readonly T[], distance: (each: T) => number): readonly T[] {
  const least = Math.min(...all.map(distance));
  return all.filter((each) => distance(each) === least);
}
