// Who may cut ranges, and how many: none of another namespace, at a bounded cost (docs/node-slices.md). Pure.
import { administers, type Trusted } from "../../cluster/trusted-namespaces.ts";
import type { Definition } from "../../cni/config/definitions.ts";

export interface CutRules {
  /** Namespaces that may cut ranges of all namespaces of pools; others only their own (`pool_namespace: nad`). */
  readonly trusted: Trusted;
  readonly rangesPerDefinition: number;
  /** Of all definitions in it. */
  readonly rangesPerNamespace: number;
  /** Of all definitions in it, where it is not trusted: every node has at least one slice of each range. */
  readonly slicesPerNamespace: number;
  /** Of the cluster: daemons read them all in one ConfigMap. Namespaces that are not trusted share half of them. */
  readonly rangesInAll: number;
}

/** Ten networks, both families, are 20 ranges; at 5,000 nodes a namespace that is not trusted may have four of them. */
export const defaultCutLimits = {
  rangesPerDefinition: 16,
  rangesPerNamespace: 64,
  slicesPerNamespace: 20_000,
  rangesInAll: 1000,
} as const;

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
  if (!administers(namespace, poolNamespace, trusted)) {
    const what = `Definitions in the namespace ${namespace} may not cut ranges of pools in ${poolNamespace} into slices`;
    const remedy = `Set "pool_namespace": "nad", take node_slice_size away, or have an administrator add ${namespace} to --trusted-namespaces of the controller.`;
    return { reason: "NotTrusted", why: `${what}, as ${key} asks: others share these. ${remedy}` };
  }
  const ranges = config.ranges.filter(({ sliceLength }) => sliceLength !== undefined).length;
  if (ranges <= rangesPerDefinition) return undefined;
  const limit = `a definition may have ${rangesPerDefinition} (--max-sliced-ranges-per-definition of the controller)`;
  return { reason: "TooMany", why: `${key} asks for slices of ${ranges} ranges, and ${limit}.` };
}

/** Counts with the range in question: of its namespace, of the cluster, of all namespaces that are not trusted. */
type RangeCounts = Readonly<Record<"ranges" | "inAll" | "untrusted" | "nodes", number>>;

/** The limit that one more range would exceed. */
export function excessOf(definition: Definition, counts: RangeCounts, rules: CutRules): Objection | undefined {
  const { ranges, inAll, untrusted, nodes } = counts;
  const { trusted, rangesPerNamespace, slicesPerNamespace, rangesInAll } = rules;
  const namespace = namespaceOf(definition);
  const would = `${definition.key} would be sliced range ${ranges} of the namespace ${namespace}`;
  if (ranges > rangesPerNamespace) {
    const limit = `it may have ${rangesPerNamespace} (--max-sliced-ranges-per-namespace of the controller)`;
    return { reason: "TooMany", why: `${would}, and ${limit}.` };
  }
  const half = Math.floor(rangesInAll / 2);
  const isUntrusted = !trusted.has(namespace);
  if (inAll > rangesInAll || (isUntrusted && untrusted > half)) {
    const untrustedHave = `namespaces that are not trusted have ${half}`;
    const who = inAll > rangesInAll ? `the cluster has ${rangesInAll}` : untrustedHave;
    const limit = `${who} already, as many as there may be in all`;
    return { reason: "TooMany", why: `${would}, and ${limit}. Take node_slice_size from definitions that need none.` };
  }
  if (!isUntrusted || ranges * nodes <= slicesPerNamespace) return undefined;
  const slices = `with ${nodes} nodes these are ${ranges * nodes} slices or more`;
  const limit = `it may have ${slicesPerNamespace} (--max-slices-per-namespace of the controller)`;
  return { reason: "TooMany", why: `${would}; ${slices}, and ${limit}.` };
}
