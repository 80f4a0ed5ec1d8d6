// Whose word counts for which pools (docs/decisions/0016, rule 2): a definition may decide for all who use a pool where
// its namespace is the pool's, or one in which only administrators write. Pure.

/** Namespaces in which only administrators write: `--trusted-namespaces`. */
export type Trusted = Pick<ReadonlySet<string>, "has">;

export function trustedNamespaces(
  systemNamespace: string,
  named: readonly string[] = ["default"],
): ReadonlySet<string> {
  return new Set([systemNamespace, ...named]);
}

/** `namespace`: of the definition. */
export function administers(namespace: string, poolNamespace: string, trusted: Trusted): boolean {
  return namespace === poolNamespace || trusted.has(namespace);
}
