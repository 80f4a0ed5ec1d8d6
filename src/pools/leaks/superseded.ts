// Which holds a pod has twice: two addresses of one owner in one pool; network-status shows which the pod uses. Pure.
import type { InterfaceStatus } from "../../api/network-status.ts";
import { stableName } from "../../ipam/owner.ts";
import { type Address, equal } from "../../net/address.ts";
import { membersOf, type PoolsOfHolds } from "../membership.ts";
import type { PoolHold } from "../pool-hold.ts";

/** Name, interface and pool -> holds. By name: what whereabouts left of a pod has no UID, and its successor has one. */
export function doublesOf(holds: Iterable<PoolHold>, index: PoolsOfHolds): Map<string, PoolHold[]> {
  const ofPods = Iterator.from(holds).filter(({ hold }) => hold.owner.kind === "pod");
  const found = membersOf(ofPods, index, ({ hold }, pool) => `${stableName(hold.owner)} ${pool}`);
  for (const [key, all] of found) if (all.length < 2) found.delete(key);
  return found;
}

/** Said of this hold only where the pod's interface has one of the others and not this one. Silence proves nothing. */
export function isSuperseded(held: PoolHold, doubles: readonly PoolHold[], status?: readonly InterfaceStatus[]) {
  const { owner } = held.hold;
  if (owner.kind !== "pod" || status === undefined) return false;
  const shown = status.filter((each) => each.interface === owner.interface).flatMap(({ addresses }) => addresses);
  return !has(shown, held.hold.address) && doubles.some((other) => other !== held && has(shown, other.hold.address));
}

function has(addresses: readonly Address[], address: Address): boolean {
  return addresses.some((each) => equal(each, address));
}
