// Which pools the network attachment definitions of a cluster use, and how: one use per range of a definition. Pure.
import { settledDomain } from "../api/pools/pool-domain.ts";
import { type PoolIdentity, poolNamesToRead } from "../api/pools/pool-name.ts";
import { administers, type Trusted } from "../cluster/trusted-namespaces.ts";
import { type DefinitionObject, readDefinitions } from "../cni/config/definitions.ts";
import type { IpamConfig } from "../cni/config/ipam-config.ts";
import { usefulOf } from "../cni/config/pool-definition.ts";
import type { IpamRange } from "../cni/config/range.ts";
import type { Domain } from "../ipam/ledger.ts";
import { type IntervalSet, union } from "../net/interval-set.ts";
import type { PoolRange } from "./membership.ts";

export interface NetworkUse {
  /** namespace/name of the definition. */
  readonly definition: string;
  readonly config: IpamConfig;
  readonly range: IpamRange;
  readonly identity: PoolIdentity;
  readonly namespace: string;
  /** See SettlingRule. */
  readonly mayStandAlone: boolean;
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
  /** The same for what a definition asks for and does not get. */
  readonly ignored: readonly { readonly definition: string; readonly why: string }[];
}

const everybody: Trusted = { has: () => true };

/** `trusted`: absent for who only looks at what others have settled. */
export function networksOf(
  definitions: Iterable<DefinitionObject>,
  systemNamespace: string,
  trusted = everybody,
): Networks {
  const { readable, unreadable } = readDefinitions(definitions, systemNamespace);
  const all = readable.flatMap(({ key, object, config, poolNamespace: namespace }) =>
    config.ranges.map((range): NetworkUse => {
      const identity = { range: range.prefix, network: config.networkName, node: "" };
      const names = poolNamesToRead(identity, config.poolNaming);
      const mayStandAlone = administers(object.metadata.namespace ?? "", namespace, trusted);
      return { definition: key, config, range, identity, namespace, mayStandAlone, names };
    }),
  );
  const isShared = ({ range }: NetworkUse) => range.sliceLength === undefined;
  const ignored = readable.flatMap(({ key, warnings }) => warnings.map((why) => ({ definition: key, why })));
  return { uses: all.filter(isShared), sliced: all.filter((use) => !isShared(use)), unreadable, ignored };
}

/** The domain in which the use's addresses are unique. Undefined: the pool is of another, and the use is refused. */
export function domainOfUse(use: NetworkUse, name = use.names[0]!, marked?: Domain): Domain | undefined {
  const { config, namespace, identity, mayStandAlone } = use;
  const rule = { network: identity.network, protectsOverlaps: config.overlappingRanges, mayStandAlone };
  return settledDomain({ ...rule, pool: { namespace, name } }, marked);
}

/** What definitions hand out of a pool; undefined: none uses it, and all of it counts. */
export function usefulIn(uses: readonly NetworkUse[]): IntervalSet | undefined {
  if (uses.length === 0) return undefined;
  return uses.map(({ config, range }) => usefulOf(config, range)).reduce((all, each) => union(all, each));
}

export function usesOfPool(uses: readonly NetworkUse[], pool: Pick<PoolRange, "namespace" | "name">): NetworkUse[] {
  return uses.filter(({ namespace, names }) => namespace === pool.namespace && names.includes(pool.name));
}
