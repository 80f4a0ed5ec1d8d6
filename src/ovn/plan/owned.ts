// The rows that a scope is about: those go that are not wanted. Ours and OVN-Kubernetes' of the same VMs alike.
import type { Desired, PortScope } from "../desired.ts";
import { clusterRouter, gatewayRouter } from "../names.ts";
import { networkPart, parseVm, printVm, topologyPart, type VmName, vmOf } from "../rows/marks.ts";
import { parentOf, type TableName, tableNames } from "../rows/tables.ts";
import type { VmPlacement } from "../vm/placement.ts";
import type { Existing, View } from "./view.ts";

const ofVms = ["Logical_Switch_Port", "Logical_Router_Static_Route", "Logical_Router_Policy", "DHCP_Options"] as const;

export function ownedBy(view: View, { scope, vms }: Desired): Existing[] {
  const parts = [
    ...(scope.topology ? [topologyPart] : []),
    ...(scope.network === undefined ? [] : [networkPart(scope.network)]),
  ];
  const whole = parts.flatMap((part) => tableNames.flatMap((table) => view.by(table, "part", part)));
  const marked = ofVms.flatMap((table) => markedRows(view, table, scope.vms)).filter(isOnDefaultNetwork);
  const placements = new Map(vms.map((vm) => [printVm(vm), vm]));
  const ports = scope.ports === undefined ? [] : podPorts(view, scope.ports);
  return [...whole, ...marked, ...unmarkedRows(view, marked, placements), ...ports];
}

/** An address has one port on a switch: whose it is, who asks knows. A VM's is left to who writes its rows. */
function podPorts(view: View, scope: PortScope): readonly Existing[] {
  if ("name" in scope) {
    const isThatPods = ({ row }: Existing) =>
      (row["options"] as ReadonlyMap<string, string>).get("iface-id-ver") === scope.podUid;
    return view.by("Logical_Switch_Port", "key", scope.name).filter(isThatPods);
  }
  return scope.addresses
    .flatMap((ip) => view.by("Logical_Switch_Port", "ip", ip))
    .filter((each) => vmOfRow(each) === undefined && each.parents.some(({ row }) => row["name"] === scope.switch));
}

/** The VMs whose rows are there. */
export function ownersIn(view: View): readonly VmName[] {
  const marked = ofVms.flatMap((table) => markedRows(view, table, "all")).filter(isOnDefaultNetwork);
  return [...new Set(marked.map((row) => vmOfRow(row)!))].map(parseVm);
}

function markedRows(view: View, table: TableName, of: Desired["scope"]["vms"]): readonly Existing[] {
  if (of !== "all") return of.flatMap((vm) => view.by(table, "vm", printVm(vm)));
  return view.list(table).filter((row) => vmOfRow(row) !== undefined);
}

/** Routes and policies of other networks are on routers of their own. */
function isOnDefaultNetwork({ table, parents }: Existing): boolean {
  return parentOf(table)?.table !== "Logical_Router" || parents.some(({ row }) => row["name"] === clusterRouter);
}

/**
 * Rows without any mark are a VM's by its address: ports that OVN-Kubernetes made for its pods, the source address of
 * its traffic on gateways where it has been, and neighbour entries.
 */
function unmarkedRows(view: View, marked: readonly Existing[], vms: ReadonlyMap<string, VmPlacement>): Existing[] {
  /** Address -> the VM, by where it is and by the rows that it has. */
  const addresses = new Map<string, string>();
  for (const row of marked) for (const ip of addressesOf(row)) addresses.set(ip, vmOfRow(row)!);
  for (const [vm, { addresses: own }] of vms) for (const { address } of own) addresses.set(address.toString(), vm);
  return [...addresses].flatMap(([ip, vm]) => [
    ...view.by("Logical_Switch_Port", "ip", ip).filter((port) => isPodOf(port, vm)),
    ...view.by("NAT", "ip", ip).filter((nat) => isStale(nat, vms.get(vm)?.activeNode)),
    ...view.by("Static_MAC_Binding", "ip", ip).filter(({ row }) => (row["logical_port"] as string).startsWith("rtos-")),
  ]);
}

function vmOfRow({ row }: Existing): string | undefined {
  return vmOf(row["external_ids"] as ReadonlyMap<string, string>);
}

function addressesOf({ table, row }: Existing): readonly string[] {
  if (table === "Logical_Router_Static_Route") return [row["ip_prefix"] as string];
  if (table === "Logical_Router_Policy") return [(row["match"] as string).replace(/^ip[46]\.src == /, "")];
  if (table !== "Logical_Switch_Port") return [];
  return [...(row["port_security"] as ReadonlySet<string>)]
    .flatMap((each) => each.split(" ").slice(1))
    .filter((each) => !each.includes("/"));
}

/** A pod of its namespace, and no other VM's: of a port that has the VM's address nobody else is meant. */
function isPodOf(port: Existing, vm: string): boolean {
  const ids = port.row["external_ids"] as ReadonlyMap<string, string>;
  return vm.startsWith(`${ids.get("namespace")}/`) && (vmOf(ids) ?? vm) === vm;
}

/** OVN-Kubernetes writes one on each gateway that a VM comes to, without a mark. An egress IP's has one. */
function isStale({ row, parents }: Existing, activeNode: string | undefined): boolean {
  const isHere = activeNode !== undefined && parents.some((each) => each.row["name"] === gatewayRouter(activeNode));
  const isBare = (row["external_ids"] as ReadonlyMap<string, string>).size === 0 && row["logical_port"] === undefined;
  return row["type"] === "snat" && isBare && !isHere;
}
