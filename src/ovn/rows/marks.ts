// Whose a row is, by its external_ids. VMs' rows carry OVN-Kubernetes' own marks: its rows are understood here, and
// ours by it. Rows of the topology, which it leaves bare, carry one of ours.
type Ids = ReadonlyMap<string, string>;

export interface VmName {
  readonly namespace: string;
  readonly name: string;
}

const prefix = "k8s.ovn.org/";
const owner = "default-network-controller";
const zone = `${prefix}zone`;

export const printVm = ({ namespace, name }: VmName): string => `${namespace}/${name}`;

/** What `printVm` has made: neither part has a slash. */
export function parseVm(text: string): VmName {
  const at = text.indexOf("/");
  return { namespace: text.slice(0, at), name: text.slice(at + 1) };
}

/** Of a route or policy. `zone`: whether the VM is at a node of this database. */
export function vmMarks({ namespace, name }: VmName, where: "local" | "remote"): Record<string, string> {
  return { [`${prefix}namespace`]: namespace, [`${prefix}vm`]: name, [zone]: where };
}

/** Of any pod's port, as OVN-Kubernetes writes them. */
export function podMarks(namespace: string): Record<string, string> {
  return { namespace, pod: "true" };
}

/** Of a VM's port: OVN-Kubernetes knows the first two. */
export function portMarks({ namespace, name }: VmName): Record<string, string> {
  return { ...podMarks(namespace), [`${prefix}namespace`]: namespace, [`${prefix}vm`]: name };
}

/** In ids a colon separates the parts, so that those of IPv6 become dots. */
export function dhcpMarks(vm: VmName, subnet: string): Record<string, string> {
  const cidr = subnet.replaceAll(":", ".");
  return {
    [`${prefix}cidr`]: cidr,
    [`${prefix}id`]: `${owner}:VirtualMachine:${printVm(vm)}:${cidr}`,
    [`${prefix}name`]: printVm(vm),
    [`${prefix}owner-controller`]: owner,
    [`${prefix}owner-type`]: "VirtualMachine",
    [zone]: "local",
  };
}

/** The one that OVN-Kubernetes looks it up by; "" where there is none. */
export function idOfDhcp(ids: Ids): string {
  return ids.get(`${prefix}id`) ?? "";
}

/** The VM on the default network whose row this is. Rows of other networks and of pods are nobody's here. */
export function vmOf(ids: Ids): string | undefined {
  if ((ids.get(`${prefix}owner-controller`) ?? owner) !== owner) return undefined;
  const isPort = ids.get("pod") === "true";
  if (!isPort && !ids.has(zone)) return undefined;
  const both = ids.get(`${prefix}name`);
  if (both !== undefined && (ids.get(`${prefix}owner-type`) ?? "VirtualMachine") === "VirtualMachine") return both;
  const [namespace, name] = [ids.get(`${prefix}namespace`), ids.get(`${prefix}vm`)];
  return namespace === undefined || name === undefined ? undefined : printVm({ namespace, name });
}

/** Of a secondary network's rows: OVN-Kubernetes knows the first. `vm`: whose port it is. */
export function networkMarks(network: string, vm?: VmName): Record<string, string> {
  const own = vm === undefined ? {} : { [`${prefix}namespace`]: vm.namespace, [`${prefix}vm`]: vm.name };
  return { [`${prefix}network`]: network, [spanning]: network, ...own };
}

/** As `dhcpMarks`, owned by the network's controller: rows of the default network are told apart by that. */
export function spanningDhcpMarks(network: string, vm: VmName, subnet: string): Record<string, string> {
  const cidr = subnet.replaceAll(":", ".");
  const controller = `${network}-network-controller`;
  return {
    [`${prefix}cidr`]: cidr,
    [`${prefix}id`]: `${controller}:VirtualMachine:${printVm(vm)}:${cidr}`,
    [`${prefix}name`]: printVm(vm),
    [`${prefix}owner-controller`]: controller,
    [`${prefix}owner-type`]: "VirtualMachine",
    [spanning]: network,
  };
}

const topology = "holdfast.io/topology";
/** Its value is the network's name. Without it a row of a network is others'. */
const spanning = "holdfast.io/network";

/** `of`: the node's name, or `cluster`. */
export function topologyMarks(of: string): Record<string, string> {
  return { [topology]: of };
}

/** The part of the database that a row of ours belongs to, if it is not a VM's on the default network. */
export function partOf(ids: Ids): string | undefined {
  if (ids.has(topology)) return topologyPart;
  const network = ids.get(spanning);
  return network === undefined ? undefined : networkPart(network);
}

export const topologyPart = "topology";
export const networkPart = (network: string): string => `network ${network}`;
