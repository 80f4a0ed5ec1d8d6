// What a zone is to look like, or a part of it, and which rows are to go if they are not among that.
import { type VmName, printVm } from "./rows/marks.ts";
import type { Wanted } from "./rows/wanted.ts";
import { clusterRows } from "./topology/cluster-router.ts";
import { gatewayRows } from "./topology/gateway.ts";
import { routerPortRow, switchRows } from "./topology/node-switch.ts";
import { transitRows } from "./topology/transit.ts";
import type { VmPlacement } from "./vm/placement.ts";
import { rowsOfVm } from "./vm/rows.ts";
import { localNodes, type Zone } from "./zone/zone.ts";

/** `vms`: those that are to be written; one without a placement is to be gone. */
export interface Scope {
  readonly topology: boolean;
  readonly vms: "all" | readonly VmName[];
  readonly ports?: PortScope;
  /** A spanning network, whole (spanning/rows.ts). */
  readonly network?: string;
}

/** Ports of pods that are no VMs: that of one pod, or those on a switch that have one of the addresses. */
export type PortScope =
  | { readonly name: string; readonly podUid: string }
  | { readonly switch: string; readonly addresses: readonly string[] };

export interface Desired {
  readonly wanted: readonly Wanted[];
  readonly scope: Scope;
  /** The placements of the VMs in scope. */
  readonly vms: readonly VmPlacement[];
}

/** `vms`: every VM of the cluster. Where a port's proxy is a list, moving one VM changes it too. */
export function desiredOf(zone: Zone, vms: readonly VmPlacement[], scope: Scope): Desired {
  const named = scope.vms === "all" ? undefined : new Set(scope.vms.map(printVm));
  const inScope = named === undefined ? vms : vms.filter((vm) => named.has(printVm(vm)));
  const locals = localNodes(zone);
  const proxies = zone.features.arpProxy === "list" ? locals.map((node) => routerPortRow(zone, node, vms)) : [];
  const topology = scope.topology ? topologyOf(zone, vms) : proxies;
  return { wanted: [...topology, ...inScope.flatMap((vm) => rowsOfVm(zone, vm))], scope, vms: inScope };
}

function topologyOf(zone: Zone, vms: readonly VmPlacement[]): readonly Wanted[] {
  const nodes = localNodes(zone).flatMap((node) => [...switchRows(zone, node, vms), ...gatewayRows(zone, node)]);
  return [...clusterRows(zone), ...transitRows(zone), ...nodes];
}
