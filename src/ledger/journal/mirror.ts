// Which holds of a slice's mirror a journal takes over. Pure.
import type { Domain, Hold } from "../../ipam/ledger.ts";
import { sameOwner } from "../../ipam/owner.ts";
import type { Address } from "../../net/address.ts";

/**
 * The journal is ahead of its mirror, so what it has stays. Where lines were damaged, a hold from before them (its version is at or below
 * `doubt`) may have been released since and the address be another's: there the mirror knows better, and either way the address is not free.
 */
export function mergeMirror(
  mirror: readonly Hold[],
  get: (domain: Domain, address: Address) => Hold | undefined,
  doubt: number,
): Hold[] {
  return mirror.filter((hold) => {
    const own = get(hold.domain, hold.address);
    if (own === undefined) return true;
    return Number(own.version) <= doubt && !sameOwner(own.owner, hold.owner);
  });
}
