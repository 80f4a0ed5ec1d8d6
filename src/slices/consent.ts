// Who may cut a range into slices, and how many: no definition acts on what another namespace hands out, and what one costs the cluster is
// bounded (docs/node-slices.md). Pure.
import type { Definition } from "../cni/definitions.ts";

export interface CutRules {
  /** Namespaces whose definitions may cut ranges in every namespace of pools; others only in their own (`pool_namespace: nad`). */
  readonly trusted: Pick<ReadonlySet<string>, "has">;
  readonly rangesPerDefinition: number;
  /** Of all definitions in it. */
  readonly rangesPerNamespace: number;
  /** Of all definitions in it, where it is not trusted: every node has at least one slice of each range. */
  readonly slicesPerNamespace: number;
}

/** Ten networks, both families, are 20 ranges; at 5,000 nodes a namespace that is not trusted may have four of them. */
export const defaultCutLimits = {
  rangesPerDefinition: 16,
  rangesPerNamespace: 64,
  slicesPerNamespace: 20_000,
} as const;

export function trustedNamespaces(
  systemNamespace: string,
  named: readonly string[] = ["default"],
): ReadonlySet<string> {
  return new Set([systemNamespace, ...named]);
}

/** Why a range gets no slices. */
export interface Objection {
  readonly reason: "NotTrusted" | "TooMany" | "OnRecord";
  readonly why: string;
}

export function namespaceOf({ object }: Definition): string {
  return object.metadata.namespace ?? "";
}

export function objectionTo(definition: Definition, { trusted, rangesPerDefinition }: CutRules): Objection | undefined {
  const { key, config, poolNamespace } = definition;
  const namespace = namespaceOf(definition);
  if (poolNamespace !== namespace && !trusted.has(namespace)) {
    return {
      reason: "NotTrusted",
      why:
        `Definitions in the namespace ${namespace} may not cut ranges of pools in ${poolNamespace} into slices, as ${key} asks: others share these. ` +
        `Set "pool_namespace": "nad", take node_slice_size away, or have an administrator add ${namespace} to --trusted-namespaces of the controller.`,
    };
  }
  const ranges = config.ranges.filter(({ sliceLength }) => sliceLength !== undefined).length;
  if (ranges <= rangesPerDefinition) return undefined;
  return {
    reason: "TooMany",
    why: `${key} asks for slices of ${ranges} ranges, and a definition may have ${rangesPerDefinition} (--max-sliced-ranges-per-definition of the controller).`,
  };
}

/** What one more range of the namespace would be too much for. `ranges`: with it. */
export function excessOf(
  definition: Definition,
  { ranges, nodes }: { readonly ranges: number; readonly nodes: number },
  { trusted, rangesPerNamespace, slicesPerNamespace }: CutRules,
): Objection | undefined {
  const namespace = namespaceOf(definition);
  const would = `${definition.key} would be sliced range ${ranges} of the namespace ${namespace}`;
  if (ranges > rangesPerNamespace) {
    const limit = `it may have ${rangesPerNamespace} (--max-sliced-ranges-per-namespace of the controller)`;
    return { reason: "TooMany", why: `${would}, and ${limit}.` };
  }
  if (trusted.has(namespace) || ranges * nodes <= slicesPerNamespace) return undefined;
  const slices = `with ${nodes} nodes these are ${ranges * nodes} slices or more`;
  const limit = `it may have ${slicesPerNamespace} (--max-slices-per-namespace of the controller)`;
  return { reason: "TooMany", why: `${would}; ${slices}, and ${limit}.` };
}
