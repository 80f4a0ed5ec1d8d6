// Whether a NIC may have the address that it asks for by number, and in which pool. Pure. Who holds it now is not asked
// here: the ledger says that.
import type { Address } from "../../net/address.ts";
import type { Mac } from "../../net/mac.ts";
import { whyNotGiven } from "../rules/examine-nic.ts";
import { familyOf, placementOf, type PoolPlan, reservationFor } from "../rules/pool-plan.ts";
import type { NetworkFacts } from "./nic-hold.ts";
import type { Family } from "./nic-slot.ts";

/** The pool that can give it, or why none can. */
export function judgeWanted(
  { pools, faults, lacks = [] }: NetworkFacts,
  mac: Mac,
  wanted: Address,
): { readonly pool: PoolPlan } | { readonly message: string } {
  const plans = pools.map(({ plan }) => plan);
  const giving = plans.find((plan) => {
    const family = familyOf(plan, wanted);
    const at = family && placementOf(family, wanted);
    return at?.place === "usable" || (at?.place === "reserved" && at.mac === mac);
  });
  if (giving !== undefined) return { pool: giving };
  const lack = wanted.family === 6 ? lacks[0] : undefined;
  return { message: faults[0] ?? lack ?? whyNotGiven(plans, mac, wanted) ?? `${wanted} is no address of a VM here.` };
}

/** The address of the family that a pool keeps for this MAC. */
export function reservedFor(
  { pools }: NetworkFacts,
  mac: Mac,
  family: Family,
): { pool: PoolPlan; address: Address } | undefined {
  for (const { plan, isDeleting } of pools) {
    const addresses = family === 4 ? plan.ipv4 : plan.ipv6;
    const found = isDeleting || addresses === undefined ? undefined : reservationFor(addresses, mac);
    if (found !== undefined) return { pool: plan, address: found.address };
  }
  return undefined;
}
