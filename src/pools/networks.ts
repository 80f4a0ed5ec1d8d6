// Which pools the network attachment definitions of a cluster use, and how: one use per range of a definition. Pure.
import { settledDomain } from "../api/pool-domain.ts";
import { type PoolIdentity, poolNamesToRead } from "../api/pool-name.ts";
import { CniError } from "../cni/error.ts";
import { type IpamConfig, parseIpamConfig } from "../cni/ipam-config.ts";
import { parseNetwork } from "../cni/network.ts";
import type { IpamRange } from "../cni/range.ts";
import type { Domain } from "../ipam/ledger.ts";
import type { DeepReadonly, KubeObject } from "../kube/meta.ts";
import { keyOf } from "../kube/meta.ts";

export interface NetworkUse {
  /** namespace/name of the definition. */
  readonly definition: string;
  readonly config: IpamConfig;
  readonly range: IpamRange;
  readonly identity: PoolIdentity;
  /** Where the pool is. */
  readonly namespace: string;
  /** Every name under which it may be, the one to write first. */
  readonly names: readonly string[];
}

export interface Networks {
  /** Of shared pools. */
  readonly uses: readonly NetworkUse[];
  /** Of ranges that are cut into slices: each node has a pool of its own, which the reconciler of slices makes. */
  readonly sliced: readonly NetworkUse[];
  /** Sentences, one for each definition that is ours and cannot be read. */
  readonly unreadable: readonly { readonly definition: string; readonly why: string }[];
}

type Definition = DeepReadonly<KubeObject & { spec?: { config?: string } }>;

export function networksOf(definitions: Iterable<Definition>, systemNamespace: string): Networks {
  const all: NetworkUse[] = [];
  const unreadable: { definition: string; why: string }[] = [];
  for (const object of definitions) {
    const text = object.spec?.config ?? "";
    if (!isOurs(text)) continue;
    try {
      all.push(...usesOf(object, text, systemNamespace));
    } catch (error) {
      if (!(error instanceof CniError)) throw error;
      unreadable.push({ definition: keyOf(object), why: error.message });
    }
  }
  const isShared = ({ range }: NetworkUse) => range.sliceLength === undefined;
  return { uses: all.filter(isShared), sliced: all.filter((use) => !isShared(use)), unreadable };
}

/** The domain in which the use's addresses are unique. Undefined: the pool is handed out in another, and the use is refused. */
export function domainOfUse(
  { config, namespace, names, identity }: NetworkUse,
  pool = names[0]!,
  marked?: Domain,
): Domain | undefined {
  const rule = { network: identity.network, protectsOverlaps: config.overlappingRanges };
  return settledDomain({ ...rule, pool: { namespace, name: pool } }, marked);
}

function usesOf(object: Definition, text: string, systemNamespace: string): NetworkUse[] {
  const { config } = parseIpamConfig(parseNetwork(text));
  const namespace = config.poolNamespace === "nad" ? (object.metadata.namespace ?? "") : systemNamespace;
  return config.ranges.map((range) => {
    const identity = { range: range.prefix, network: config.networkName, node: "" };
    const names = poolNamesToRead(identity, config.poolNaming);
    return { definition: keyOf(object), config, range, identity, namespace, names };
  });
}

/** Whether some plugin of the text has an ipam of ours; what is no JSON is nobody's. */
function isOurs(text: string): boolean {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return false;
  }
  const { plugins } = (parsed ?? {}) as { plugins?: unknown };
  const all = Array.isArray(plugins) ? (plugins as unknown[]) : [parsed];
  return all.some((plugin) => {
    const type = (plugin as { ipam?: { type?: unknown } } | null)?.ipam?.type;
    return type === "holdfast" || type === "whereabouts";
  });
}
