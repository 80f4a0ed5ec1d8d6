// Two VMs with one address: ovn-kubernetes up to 1.3 gave one VM's address to another whose label was the same, and
// what it left is taken over. One of them keeps it; the other is told, and has no rows. Pure.
import { isLiving, type Launcher } from "../objects/launcher.ts";
import { sinceOf } from "./inheritance.ts";
import { currentLife } from "./situation.ts";

/**
 * Of VMs that say that they have the same address: whose it is. Who has had it longest, then by the VMI's UID: the same
 * after any migration of either. Key: namespace/name.
 */
export function holderOf(vms: ReadonlyMap<string, readonly Launcher[]>): string | undefined {
  const claims = [...vms].flatMap(([vm, pods]) => {
    const life = currentLife(pods);
    return life.some(isLiving) ? [{ vm, sinceMs: sinceOf(life), instance: life[0]!.instance }] : [];
  });
  const order = claims.toSorted((a, b) => a.sinceMs - b.sinceMs || (a.instance < b.instance ? -1 : 1));
  return order[0]?.vm;
}
