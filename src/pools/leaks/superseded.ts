// Which holds a pod has twice: two addresses of one owner in one pool, where network-status shows which one the pod uses. Pure.
import type { InterfaceStatus } from "../../api/network-status.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { stableName } from "../../ipam/owner.ts";
import type { Address } from "../../net/address.ts";
import type { PoolHold } from "../pool-hold.ts";

interface PoolsOf {
  of(hold: Hold, namespace: string): readonly { readonly key: string }[];
}

/** Name, interface and pool -> holds. By name: what whereabouts left of a pod has no UID, and its successor has one. */
export function doublesOf(holds: Iterable<PoolHold>, index: PoolsOf): Map<string, PoolHold[]> {
  const found = new Map<string, PoolHold[]>();
  for (const held of holds) {
    if (held.cooling !== undefined || held.hold.owner.kind !== "pod") continue;
    for (const pool of index.of(held.hold, held.namespace)) {
      const key = `${stableName(held.hold.owner)} ${pool.key}`;
      const others = found.get(key);
      if (others === undefined) found.set(key, [held]);
      else others.push(held);
    }
  }
  for (const [key, all] of found) if (all.length < 2) found.delete(key);
  return found;
}

/** Said of this hold only where the pod's interface has one of the others and not this one. Silence proves nothing. */
export function isSuperseded(
  held: PoolHold,
  doubles: readonly PoolHold[],
  status?: readonly InterfaceStatus[],
): boolean {
  const { owner } = held.hold;
  if (owner.kind !== "pod" || status === undefined) return false;
  const shown = status.filter((each) => each.interface === owner.interface).flatMap(({ addresses }) => addresses);
  return !has(shown, held.hold.address) && doubles.some((other) => other !== held && has(shown, other.hold.address));
}

function has(addresses: readonly Address[], address: Address): boolean {
  const text = address.toString();
  return addresses.some((each) => each.toString() === text);
}
