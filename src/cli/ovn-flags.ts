// The flags of the default network on OVN, and what is made of them. Without --ovn-northbound nothing of it runs.
import { readFile } from "node:fs/promises";

import type { OvnOptions } from "../migration/network.ts";
import { assertEndpoints } from "../migration/northbound/database.ts";
import { type NetworkTexts, parseNetwork } from "../migration/topology/cluster-network.ts";
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
  readonly ovnNetworkName: string;
  readonly ovnMtu: number;
  readonly ovnMasquerade: boolean;
  readonly dnsServiceNamespace: string;
  readonly dnsServiceName: string;
}

export function withOvnFlags(command: ClusterCommand): ClusterCommand {
  return command
    .option(
      "--ovn-northbound <endpoints>",
      "write OVN's northbound database there: the topology of the default network, and live migration of VMs on it; unix:/path, tcp:host:port or ssl:host:port, several with commas (default: off)",
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

/** Undefined: it is off. */
export function ovnOptionsOf(flags: OvnFlags): OvnOptions | undefined {
  const { ovnNorthbound: endpoints, ovnNetworkName: networkName } = flags;
  if (endpoints === undefined) return undefined;
  try {
    assertEndpoints(endpoints);
    return {
      northbound: { endpoints, ...tlsOf(flags, endpoints) },
      network: parseNetwork(textsOf(flags)),
      networkName,
      dnsService: { namespace: flags.dnsServiceNamespace, name: flags.dnsServiceName },
    };
  } catch (error) {
    if (error instanceof CodedError) throw new UsageError(error.message, 2, { cause: error });
    throw error;
  }
}

function textsOf({ ovnClusterSubnets, ovnJoinSubnets, ovnMtu, ovnMasquerade }: OvnFlags): NetworkTexts {
  return { subnets: ovnClusterSubnets, joinSubnets: ovnJoinSubnets, mtu: ovnMtu, masks: ovnMasquerade };
}

function tlsOf(
  { ovnCertificate, ovnPrivateKey, ovnCaCert }: OvnFlags,
  endpoints: string,
): Pick<OvnOptions["northbound"], "tls"> {
  const files = [ovnCaCert, ovnCertificate, ovnPrivateKey] as const;
  if (!endpoints.includes("ssl:") && files.every((each) => each === undefined)) return {};
  if (files.some((each) => each === undefined))
    throw new UsageError("ssl needs all three: give --ovn-certificate, --ovn-private-key and --ovn-ca-cert.");
  const material = async () => {
    const [authority, certificate, key] = await Promise.all(files.map((file) => readFile(file!, "utf8")));
    return { authority: authority!, certificate: certificate!, key: key! };
  };
  return { tls: { material, peer: "any" } };
}
