// All rows of one VM in one zone.
import type { Wanted } from "../rows/wanted.ts";
import type { Zone } from "../zone/zone.ts";
import { dhcpOf } from "./dhcp.ts";
import type { VmPlacement } from "./placement.ts";
import { type DhcpRefs, portOf } from "./ports.ts";
import { routesTo } from "./routes.ts";
import { awayAt, localPorts } from "./where.ts";

export function rowsOfVm(zone: Zone, vm: VmPlacement): readonly Wanted[] {
  const ports = localPorts(zone, vm);
  const dhcp =
    ports.length === 0 ? [] : vm.addresses.map((each) => [each.address.family, dhcpOf(zone, vm, each)] as const);
  const refs: DhcpRefs = Object.fromEntries(dhcp);
  const away = awayAt(zone, vm);
  return [
    ...dhcp.map(([, row]) => row),
    ...ports.map((port) => portOf(zone, vm, port, refs)),
    ...(away === undefined ? [] : routesTo(zone, vm, away)),
  ];
}
