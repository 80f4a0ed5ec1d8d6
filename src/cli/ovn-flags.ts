// The flags of the default network on OVN, and what is made of them. Without --ovn-northbound and
// --ovn-transit-subnets nothing of it runs.
import { readFile } from "node:fs/promises";

import type { OvnOptions } from "../migration/network.ts";
import { assertEndpoints } from "../migration/northbound/database.ts";
import type { ZonePlace } from "../migration/northbound/zone-writing.ts";
import { parseNetwork } from "../migration/topology/cluster-network.ts";
import { CodedError } from "../net/coded-error.ts";
import { type ClusterCommand, UsageError } from "./cluster-command.ts";

export interface OvnFlags {
  /** Undefined: no northbound database is written. */
  readonly ovnNorthbound?: string;
  readonly ovnCertificate?: string;
  readonly ovnPrivateKey?: string;
  readonly ovnCaCert?: string;
  readonly ovnClusterSubnets: readonly string[];
  readonly ovnJoinSubnets: readonly string[];
  /** Empty: there is one zone. */
  readonly ovnTransitSubnets: readonly string[];
  readonly ovnNetworkName: string;
  readonly ovnMtu: number;
  readonly ovnMasquerade: boolean;
  readonly dnsServiceNamespace: string;
  readonly dnsServiceName: string;
}

export function withOvnFlags(command: ClusterCommand, what: string): ClusterCommand {
  return command
    .option(
      "--ovn-northbound <endpoints>",
      `${what}; unix:/path, tcp:host:port or ssl:host:port, several with commas (default: off)`,
    )
    .option("--ovn-certificate <file>", "for ssl: what is shown to the database, PEM")
    .option("--ovn-private-key <file>", "for ssl: its key, PEM")
    .option("--ovn-ca-cert <file>", "for ssl: who signed the database's certificate, PEM")
    .names(
      "--ovn-cluster-subnets <subnets>",
      "of the default network, one per family, with the length of a node's subnet: 10.244.0.0/16/24,fd10:244::/48/64",
      ["10.244.0.0/16/24"],
    )
    .names("--ovn-join-subnets <subnets>", "between the cluster's router and the nodes' gateways", [
      "100.64.0.0/16",
      "fd98::/64",
    ])
    .names(
      "--ovn-transit-subnets <subnets>",
      "between interconnected zones, 100.88.0.0/16,fd97::/64: each node is a zone with a northbound database of its own, which its daemon writes; alike on controller and daemons (default: there is one zone, which the controller writes)",
      [],
    )
    .option(
      "--ovn-network-name <name>",
      "network_name of the definition that cuts the cluster's subnets into slices of nodes",
      "ovn-kubernetes",
    )
    .number("--ovn-mtu", "of pods and VMs: that of the nodes' network less 58 (geneve), 100 to be safe", 65_535, 1400)
    .option(
      "--no-ovn-masquerade",
      "leave the source address of what leaves a gateway: the world outside has routes to the cluster's subnets",
    )
    .option("--dns-service-namespace <name>", "of the DNS service that VMs are told by DHCP", "kube-system")
    .option("--dns-service-name <name>", "the DNS service that VMs are told by DHCP", "kube-dns");
}

/** Of the controller; undefined: it is off. */
export function ovnOptionsOf(flags: OvnFlags): OvnOptions | undefined {
  const { ovnNorthbound: endpoints, ovnNetworkName: networkName, ovnTransitSubnets } = flags;
  const isInterconnected = ovnTransitSubnets.length > 0;
  if (endpoints === undefined && !isInterconnected) return undefined;
  if (endpoints !== undefined && isInterconnected) {
    const words = "with --ovn-transit-subnets each node's daemon writes its own zone";
    throw new UsageError(`${words}: give --ovn-northbound to the daemons, and not to the controller.`);
  }
  const northbound = endpoints === undefined ? {} : { northbound: databaseOf(flags, endpoints) };
  return { ...northbound, ...networkOf(flags), networkName };
}

/** Of a node's daemon: the database of its zone; undefined: it attaches nothing to OVN. */
export function northboundOf(flags: OvnFlags): ZonePlace["northbound"] | undefined {
  return flags.ovnNorthbound === undefined ? undefined : databaseOf(flags, flags.ovnNorthbound);
}

/** Of a node's daemon; undefined: there is one zone, or none. */
export function ownZoneOf(flags: OvnFlags): ZonePlace | undefined {
  if (flags.ovnTransitSubnets.length === 0) return undefined;
  const northbound = northboundOf(flags);
  if (northbound === undefined)
    throw new UsageError("--ovn-transit-subnets makes the node a zone: give --ovn-northbound, its database.");
  return { northbound, ...networkOf(flags) };
}

function databaseOf(flags: OvnFlags, endpoints: string): ZonePlace["northbound"] {
  const { ovnCertificate, ovnPrivateKey, ovnCaCert } = flags;
  said(() => assertEndpoints(endpoints));
  const files = [ovnCaCert, ovnCertificate, ovnPrivateKey] as const;
  if (!endpoints.includes("ssl:") && files.every((each) => each === undefined)) return { endpoints };
  if (files.some((each) => each === undefined))
    throw new UsageError("ssl needs all three: give --ovn-certificate, --ovn-private-key and --ovn-ca-cert.");
  const material = async () => {
    const [authority, certificate, key] = await Promise.all(files.map((file) => readFile(file!, "utf8")));
    return { authority: authority!, certificate: certificate!, key: key! };
  };
  return { endpoints, tls: { material, peer: "any" } };
}

function networkOf(flags: OvnFlags): Pick<ZonePlace, "network" | "dnsService"> {
  const { ovnClusterSubnets: subnets, ovnJoinSubnets: joinSubnets, ovnTransitSubnets: transitSubnets } = flags;
  const { ovnMtu: mtu, ovnMasquerade: masks, dnsServiceNamespace: namespace, dnsServiceName: name } = flags;
  const network = said(() => parseNetwork({ subnets, joinSubnets, transitSubnets, mtu, masks }));
  return { network, dnsService: { namespace, name } };
}

/** What is wrong with a flag is a sentence for whoever gave it. */
function said<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof CodedError) throw new UsageError(error.message, 2, { cause: error });
    throw error;
  }
}
