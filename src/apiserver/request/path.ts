// Reading a path: /api/v1/... and /apis/GROUP/VERSION/..., with or without a namespace, a name and a subresource.

export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  /** Empty for the document that lists a version's resources. */
  readonly plural: string;
  readonly name: string;
  readonly subresource: string;
}

export function parseResourcePath(path: string): ResourcePath | undefined {
  const parts = path.split("/").filter((part) => part !== "");
  let decoded: string[];
  try {
    decoded = parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
  const isLegacy = decoded[0] === "api";
  const [group, version, ...rest] = isLegacy ? ["", decoded[1], ...decoded.slice(2)] : decoded.slice(1);
  if (group === undefined || version === undefined) return undefined;
  const base = { group, version };
  // /namespaces/NAME and its own subresources belong to the namespace; anything else below it is in the namespace.
  if (
    isLegacy &&
    rest[0] === "namespaces" &&
    (rest.length <= 2 || (rest.length === 3 && /^(status|finalize)$/.test(rest[2]!)))
  ) {
    return { ...base, namespace: "", plural: "namespaces", name: rest[1] ?? "", subresource: rest[2] ?? "" };
  }
  const isNamespaced = rest[0] === "namespaces" && rest.length >= 3;
  const [plural = "", name = "", subresource = "", ...more] = isNamespaced ? rest.slice(2) : rest;
  if (more.length > 0) return undefined;
  return { ...base, namespace: isNamespaced ? rest[1]! : "", plural, name, subresource };
}
