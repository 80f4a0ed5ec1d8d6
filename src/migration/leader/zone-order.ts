// In which order the zones of interconnected OVN learn where a VM is: first where its guest is now, then the zones that
// route to it, last where it was. So no zone sends to a port that does not answer yet, and what still comes to the old
// one finds it as it was until all others know the new. Pure.
import type { VmPlacement } from "../../ovn/vm/placement.ts";
import type { Zones } from "./placement-writer.ts";

export function zoneOrder(placement: VmPlacement | "gone", zones: Zones): readonly string[] {
  if (placement === "gone") return zones.all();
  const { activeNode, ports } = placement;
  const first = activeNode === undefined ? undefined : zones.of(activeNode);
  const left = new Set(ports.filter(({ isActive }) => !isActive).map(({ node }) => zones.of(node)));
  const rank = (zone: string) => (zone === first ? 0 : left.has(zone) ? 2 : 1);
  return zones.all().toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}
