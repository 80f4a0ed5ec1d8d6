// Namespaces in which only administrators write (`--trusted-namespaces`): what is defined there counts for others too.
// One default for all parts: what one gives by it, no other may refuse.
export function trustedNamespaces(
  systemNamespace: string,
  named: readonly string[] = ["default"],
): ReadonlySet<string> {
  return new Set([systemNamespace, ...named]);
}
