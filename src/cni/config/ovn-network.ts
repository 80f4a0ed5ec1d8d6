// A network of OVN that our own plugin attaches pods to, as OVN-Kubernetes writes it: every key of its configuration,
// and what it refuses. Pure. The subnets are read by overlay.ts, since other plugins' configurations have them too.
//
// Promised: what OVN-Kubernetes refuses of a configuration by itself is refused here, all of it at once. Not judged:
// what needs the cluster (subnets that overlap its own), and what is not built here: src/node/ovn says so at an ADD.
import { isObject, type JsonObject, kindOf, textOf } from "../json.ts";
import { type Fault, isAttached, keyOf, sourcesIn } from "./overlay.ts";

/** `default`: the cluster's own network, which OVN-Kubernetes has where no topology is written. */
type Topology = "default" | "layer2" | "layer3" | "localnet";

export interface OvnNetwork {
  readonly topology: Topology;
  /** `netAttachDefName`: namespace/name of the definition; empty on the default network. */
  readonly definition: string;
  /** It takes the place of the pod network in its namespace. */
  readonly isPrimary: boolean;
  /** Of interfaces; undefined: the daemon's. */
  readonly mtu: number | undefined;
  /** The 802.1Q tag of a localnet network; undefined: none. */
  readonly vlan: number | undefined;
  /** What a localnet network is called in the bridge mappings of each node. */
  readonly physicalNetwork: string;
  /** A device of SR-IOV that was given to the pod; empty: none. */
  readonly device: string;
  /** What OVN-Kubernetes refuses, and keys of a wrong type. */
  readonly faults: readonly Fault[];
  /** Keys without effect in this topology: OVN-Kubernetes passes over them in silence. */
  readonly idle: readonly Fault[];
}

const topologies: ReadonlySet<string> = new Set(["layer2", "layer3", "localnet"]);
/** OVN-Kubernetes' name of the default network, and one that it keeps for later. */
const reservedNames: ReadonlySet<string> = new Set(["", "default", "ovn-kubernetes"]);
const ours: ReadonlySet<string> = new Set(["", "holdfast", "whereabouts"]);

/** IEEE 802.1Q: 0 and 4095 are no networks. OVN-Kubernetes' 0 is "none". */
const maxVlan = 4094;
/** RFC 791 and RFC 8200: less carries no packet; the kernel's largest is this. */
const mtus = { least: 576, most: 65_535 };

const textKeys = [
  "netAttachDefName",
  "joinSubnet",
  "reservedSubnets",
  "infrastructureSubnets",
  "defaultGatewayIPs",
  "transitSubnet",
  "physicalNetworkName",
  "transport",
  "deviceID",
] as const;
const ofLayer2 = ["infrastructureSubnets", "reservedSubnets", "defaultGatewayIPs"] as const;
const ofLocalnet = ["vlanID", "physicalNetworkName"] as const;

/** Undefined: another plugin attaches it. `name`: the network's, of its list or its own. */
export function ovnNetworkOf(plugin: JsonObject, name: string): OvnNetwork | undefined {
  if (!isAttached(plugin)) return undefined;
  const text = (key: string) => textOf(keyOf(plugin, key));
  const written = text("topology");
  const topology = topologies.has(written) ? (written as Topology) : "default";
  const vlan = numberOf(plugin, "vlanID", { least: 0, most: maxVlan }, "the tag of an 802.1Q network, 1 to 4094");
  const mtu = numberOf(plugin, "mtu", { ...mtus, zero: true }, `a number of bytes, ${mtus.least} to ${mtus.most}`);
  return {
    topology,
    definition: text("netAttachDefName"),
    isPrimary: text("role") === "primary",
    mtu: mtu.value,
    vlan: topology === "localnet" ? vlan.value : undefined,
    physicalNetwork: text("physicalNetworkName") || name,
    device: text("deviceID"),
    faults: [...mistyped(plugin), ...mtu.faults, ...vlan.faults, ...faultsOf(plugin, name, written)],
    idle: topology === "localnet" ? [] : idleIn(plugin, ofLocalnet, "it is for localnet networks; remove it"),
  };
}

/** The definition's own name is another than the one in its configuration. OVN-Kubernetes refuses that too. */
export function misnamed({ topology, definition }: OvnNetwork, key: string): Fault | undefined {
  if (topology === "default" || definition === key) return undefined;
  const reason = `the definition is ${key}, and its configuration has to say so; write ${key}`;
  return { key: "netAttachDefName", value: definition, reason };
}

function mistyped(plugin: JsonObject): Fault[] {
  return textKeys.flatMap((key) => {
    const value = keyOf(plugin, key);
    return value === undefined || typeof value === "string"
      ? []
      : [{ key, value, reason: `it is ${kindOf(value)}; write a string` }];
  });
}

function numberOf(
  plugin: JsonObject,
  key: string,
  { least, most, zero = false }: { least: number; most: number; zero?: boolean },
  what: string,
): { value: number | undefined; faults: Fault[] } {
  const value = keyOf(plugin, key);
  const isNothing = value === undefined || (value === 0 && (zero || least === 0));
  if (isNothing) return { value: undefined, faults: [] };
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most)
    return { value: value as number, faults: [] };
  return { value: undefined, faults: [{ key, value, reason: `it is none; write ${what}, without quotes` }] };
}

function faultsOf(plugin: JsonObject, name: string, topology: string): Fault[] {
  const value = (key: string) => textOf(keyOf(plugin, key));
  const faults: Fault[] = [];
  const refuse = (key: string, reason: string, found: unknown = keyOf(plugin, key)) =>
    void faults.push({ key, value: found, reason });
  if (topology !== "" && !topologies.has(topology)) refuse("topology", "write layer2, layer3 or localnet");
  if (topology !== "") {
    if (value("netAttachDefName") === "") refuse("netAttachDefName", "write NAMESPACE/NAME of the definition");
    if (reservedNames.has(name)) refuse("name", "it is the default network's, or none; write another name", name);
  }
  const role = value("role");
  if (role !== "" && role !== "primary" && role !== "secondary") refuse("role", "write primary or secondary");
  if (topology === "localnet") {
    if (role === "primary") refuse("role", "a localnet network is secondary always; remove it");
    if (value("joinSubnet") !== "") refuse("joinSubnet", "a localnet network has no router; remove it");
  }
  if (topology === "layer2" && role === "primary" && value("subnets") === "")
    refuse("subnets", "a primary network gives its pods addresses; write them");
  if (topology !== "layer2") {
    for (const key of ofLayer2) if (value(key) !== "") refuse(key, "it is for layer2 networks; remove it");
  }
  if (value("excludeSubnets") !== "" && value("subnets") === "")
    refuse("excludeSubnets", "there are no subnets that it could be a part of; write subnets, or remove it");
  const transport = value("transport");
  if (transport !== "" && transport !== "geneve")
    refuse("transport", "traffic between nodes goes by geneve tunnels and nothing else here; remove it");
  return [...faults, ...foreignIpam(plugin)];
}

/** Addresses come from our ledger. OVN-Kubernetes takes no `ipam` but an empty one. */
function foreignIpam(plugin: JsonObject): Fault[] {
  const ipam = keyOf(plugin, "ipam");
  if (ipam === undefined) return [];
  if (!isObject(ipam)) return [{ key: "ipam", value: ipam, reason: `it is ${kindOf(ipam)}; leave it out` }];
  const { type } = ipam;
  if (!ours.has(textOf(type)) || (type !== undefined && typeof type !== "string"))
    return [{ key: "ipam.type", value: type, reason: "the addresses come from subnets; leave ipam out" }];
  const { hasRanges } = sourcesIn(ipam);
  if (!hasRanges) return [];
  const reason = "the ranges of a network of OVN are its subnets; write subnets beside ipam, and no range";
  return [{ key: "ipam", value: undefined, reason }];
}

function idleIn(plugin: JsonObject, keys: readonly string[], reason: string): Fault[] {
  return keys.flatMap((key) => {
    const value = keyOf(plugin, key);
    return value === undefined || value === "" || value === 0 ? [] : [{ key, value, reason }];
  });
}
