// Names around node slices: the NodeSlicePool of a network, and the Leases that whereabouts, or a tool to keep it out,
// takes.
import type { Prefix } from "../../net/prefix.ts";
import { ObjectError } from "../error.ts";
import { legalName } from "../name.ts";
import { type PoolIdentity, poolName } from "../pools/pool-name.ts";

export interface SlicedNetwork {
  /** `network_name`; empty: none. */
  readonly network: string;
  /** `name` of the CNI configuration. */
  readonly configuration: string;
  readonly range: Prefix;
}

/** As whereabouts names it: by network_name, or by the name of the configuration. */
export function nodeSlicePoolName({ network, configuration, range }: SlicedNetwork): string {
  const name = network === "" ? configuration : network;
  if (name !== "")
    return legalName("NodeSlicePool", name, network === "" ? "the configuration's name" : "network_name");
  const words = `The sliced range ${range} has neither network_name nor a configuration name: set one, its NodeSlicePool is named by it.`;
  throw new ObjectError("bad-name", words);
}

/** Every name under which it may be: the fork names it by the range where there is no network_name. */
export function nodeSlicePoolNamesToRead(sliced: SlicedNetwork): string[] {
  const name = nodeSlicePoolName(sliced);
  if (sliced.network !== "") return [name];
  return [...new Set([name, poolName({ range: sliced.range, network: "", node: "" })])];
}

/** The Lease under which whereabouts writes a pool: one for the cluster, or one per slice, named as its pool. */
export function leaseName(identity: PoolIdentity): string {
  return identity.node === "" ? "whereabouts" : poolName(identity);
}
