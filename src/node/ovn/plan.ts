// What an attachment is to be: in the pod's namespace, on the node's switch, in OVN's northbound. Pure. Undone it is by
// its record alone (attachment-file.ts), which says all that was made.
import type { OvnNetwork } from "../../cni/config/ovn-network.ts";
import type { Route } from "../../cni/config/route.ts";
import type { AttachmentInvocation } from "../../cni/invocation.ts";
import type { CniResult, ResultIp } from "../../cni/result.ts";
import type { Mac } from "../../net/mac.ts";
import { Prefix } from "../../net/prefix.ts";
import { macOf } from "../../ovn/zone/addresses.ts";
import type { PodFacts } from "../request/pods.ts";
import type { OvnRecord } from "./attachment-file.ts";
import { linkName, localnetPortName, portName, switchName } from "./names.ts";

/** A port of OVN's northbound, with the switch where that is made on demand. */
export interface LogicalPort {
  readonly name: string;
  /** Of the pod: a port of an earlier pod of its name is not this one. */
  readonly podUid: string;
  readonly switch: string;
  readonly namespace: string;
  readonly mac: Mac;
  readonly addresses: readonly string[];
  readonly chassis: string;
  /** Of a secondary network. */
  readonly network?: {
    readonly name: string;
    readonly definition: string;
    readonly topology: string;
    /** The way out of a localnet network. */
    readonly localnet?: { readonly port: string; readonly physical: string; readonly vlan: number | undefined };
  };
}

export interface AttachInput {
  readonly invocation: AttachmentInvocation;
  readonly ovn: OvnNetwork;
  /** The network's name. */
  readonly network: string;
  readonly pod: PodFacts;
  readonly node: string;
  readonly chassis: string;
  /** Asked for, or a VM's; undefined: it follows from the address. */
  readonly mac: Mac | undefined;
  /** What the ledger says. */
  readonly result: CniResult;
  /** Of the default network, where the definition names none. */
  readonly mtu: number;
  /** The guest of a VM gets the address by DHCP, and the pod's own interface none. */
  readonly isUnaddressed: boolean;
  /** A VM's port on the default network is written by the reconciler of live migration, as all that is the VM's. */
  readonly isVms: boolean;
  /** The request's configuration, for its release. */
  readonly config: string;
}

export interface AttachPlan {
  readonly record: OvnRecord;
  readonly mac: Mac;
  readonly mtu: number;
  /** On the pod's interface. */
  readonly ips: readonly ResultIp[];
  readonly routes: readonly Route[];
  /** Undefined: somebody else writes it. */
  readonly port: LogicalPort | undefined;
  /** What the runtime is told: the addresses, whether or not the pod's interface has them. */
  readonly result: CniResult;
}

export function planAttach(input: AttachInput): AttachPlan {
  const { invocation, ovn, network, pod, node, chassis, result, config } = input;
  const { containerId, interfaceName, netns } = invocation;
  const addresses = result.ips.map(({ address }) => address.address);
  const first = addresses.find(({ family }) => family === 4) ?? addresses[0];
  const mac = input.mac ?? macOf(first ?? `${pod.uid}/${interfaceName}`);
  const mtu = ovn.mtu ?? input.mtu;
  const isDefault = ovn.topology === "default";
  // The pod's way out is the router of its node; a secondary network has the routes that its definition has.
  const routes = isDefault ? [...result.routes, ...defaultRoutes(result.ips)] : result.routes;
  const name = portName(ovn, pod.namespace, pod.name);
  const link = linkName(invocation);
  const record: OvnRecord = {
    containerId,
    interfaceName,
    netns,
    link,
    port: name,
    switch: switchName(ovn, network, node),
    pod: { namespace: pod.namespace, name: pod.name, uid: pod.uid },
    network,
    definition: ovn.definition,
    mac,
    addresses: addresses.map(String),
    isUnaddressed: input.isUnaddressed,
    isVms: input.isVms,
    config,
  };
  const interfaces = [{ name: link }, { name: interfaceName, mac, mtu, sandbox: netns }];
  const ips = result.ips.map((ip) => ({ ...ip, interface: 1 }));
  return {
    record,
    mac,
    mtu,
    ips: input.isUnaddressed ? [] : result.ips,
    routes: input.isUnaddressed ? [] : routes,
    port: input.isVms ? undefined : logicalPort(input, { name, mac, addresses: record.addresses, chassis }),
    result: { ...result, interfaces, ips, routes },
  };
}

/** By the router of each address' own subnet. */
function defaultRoutes(ips: readonly ResultIp[]): Route[] {
  return ips.flatMap(({ gateway: gw }) => {
    if (gw === undefined) return [];
    const prefix = Prefix.around(gw, 0);
    return [{ dst: { address: prefix.network, prefix }, gw }];
  });
}

function logicalPort(
  { ovn, network, pod, node }: AttachInput,
  own: Pick<LogicalPort, "name" | "mac" | "addresses" | "chassis">,
): LogicalPort {
  const { topology, definition, physicalNetwork: physical, vlan } = ovn;
  const port = { ...own, podUid: pod.uid, switch: switchName(ovn, network, node), namespace: pod.namespace };
  if (topology === "default") return port;
  const localnet = topology === "localnet" && { port: localnetPortName(network), physical, vlan };
  return { ...port, network: { name: network, definition, topology, ...(localnet && { localnet }) } };
}

/** `ip -batch` for the pod's namespace: one process, and the first line that fails ends it. */
export function linkLines(plan: AttachPlan, hostNetns: string): string {
  const { record, mac, mtu, ips, routes } = plan;
  const name = record.interfaceName;
  const lines = [
    `link add name ${name} address ${mac} mtu ${mtu} type veth peer name ${record.link} mtu ${mtu} netns ${hostNetns}`,
    // Of IPv6 the ledger has asked already whether somebody else has it, and the switch lets nobody else.
    ...ips.map(({ address: { address, prefix } }) => {
      const more = address.family === 6 ? "nodad" : "broadcast +";
      return `address add ${address}/${prefix.length} ${more} dev ${name}`;
    }),
    `link set dev ${name} up`,
    ...routes.map(({ dst, gw }) => {
      const via =
        gw ?? ips.find(({ address, gateway }) => gateway && address.address.family === dst.address.family)?.gateway;
      return `route add ${dst.prefix}${via === undefined ? "" : ` via ${via}`} dev ${name}`;
    }),
  ];
  return `${lines.join("\n")}\n`;
}

/** The external_ids of the interface on the node's switch. ovn-controller binds a port by the first two alone. */
export function interfaceMarks({ record, mac }: AttachPlan, ovn: OvnNetwork): Record<string, string> {
  const { containerId, port, pod, addresses } = record;
  return {
    "iface-id": port,
    "iface-id-ver": pod.uid,
    attached_mac: mac,
    ...(addresses.length > 0 && { ip_addresses: addresses.join(",") }),
    sandbox: containerId,
    ...(ovn.topology !== "default" && { "k8s.ovn.org/network": record.network, "k8s.ovn.org/nad": ovn.definition }),
  };
}
