// The hold of one NIC, and what is known of its network. Values of the plans in this folder.
import type { Cooling } from "../../api/holds/hold-marks.ts";
import type { Hold } from "../../ipam/ledger.ts";
import type { Owner } from "../../ipam/owner.ts";
import { compare } from "../../net/address.ts";
import type { PoolPlan } from "../rules/pool-plan.ts";

/** Its `uid`, `namespace` and `name` are the network config's, its `nic` is the MAC. */
export type NicOwner = Extract<Owner, { readonly kind: "nic" }>;

export interface NicHold extends Hold {
  readonly owner: NicOwner;
  /** It is nobody's: `owner` is who had it last. */
  readonly cooling?: Cooling;
}

export interface NetworkPool {
  readonly plan: PoolPlan;
  /** What Harvester recorded has its holds: from then on addresses may be given. */
  readonly isAdopted: boolean;
  readonly isDeleting: boolean;
}

export interface NetworkFacts {
  /** There is a definition of this name. Undefined: definitions have not been listed. */
  readonly isDefined: boolean | undefined;
  /** In the order in which they are tried: by namespace/name. */
  readonly pools: readonly NetworkPool[];
  /** Sentences of pools that cannot be read. */
  readonly faults: readonly string[];
  /** Sentences of pools that have no IPv6 although they ask for it. */
  readonly lacks?: readonly string[];
}

/** For a sentence: `vmnetcfg shop/web (02:00:...)`. */
export function describeNicOwner({ namespace, name, nic, uid }: NicOwner): string {
  return uid === "" ? `the MAC ${nic}, which Harvester recorded` : `vmnetcfg ${namespace}/${name} (${nic})`;
}

export function byAddress(a: NicHold, b: NicHold): number {
  return compare(a.address, b.address);
}
