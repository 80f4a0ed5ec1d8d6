// `holdfast node`: the daemon of one node, which the CNI plugin asks.
import type { Command } from "commander";

import { flatFileFolders } from "../cni/config/merge.ts";
import { ClusterCommand, type DaemonOptions, UsageError } from "./cluster-command.ts";
import { type OvnFlags, withOvnFlags } from "./ovn-flags.ts";
import type { Output } from "./program.ts";

export interface NodeOptions extends DaemonOptions, OvnFlags {
  readonly nodeName: string;
  readonly socket: string;
  readonly state: string;
  readonly namespaceIsolation: boolean;
  readonly globalNamespaces: readonly string[];
  readonly trustedNamespaces: readonly string[];
  readonly configurationFolders: readonly string[];
  readonly cooldownMs: number;
  readonly sliceAuthorityMs: number;
  /** Undefined: neighbours of VMs that move are told nothing. */
  readonly ovnManagementPort?: string;
  readonly ovnGateway?: string;
  readonly ovsDatabase: string;
  /** How long shared ranges hand out nothing after a restore of the API server; undefined: by the number of nodes. */
  readonly restoreSettleMs?: number;
}

/** Runs until it is told to stop. */
export type RunNode = (options: NodeOptions, output: Output) => Promise<void>;

export function nodeCommand(output: Output, node: RunNode): Command {
  const command = new ClusterCommand("node")
    .description(
      "Run the daemon of one node: it serves the CNI plugin on a unix socket. One per node, as root; docs/node.md is for the person who runs it.",
    )
    .option("--node-name <name>", "the node's name in the cluster (default: the variable NODE_NAME)")
    .option("--socket <file>", "where the CNI plugin finds it", "/run/holdfast/cni.sock")
    .option(
      "--state <folder>",
      "what must survive a restart: releases still to be done, the journal of its slices, and `spool`, where the plugin keeps a DEL while no daemon runs",
      "/var/lib/holdfast",
    )
    .systemNamespace("where pools and the shared state are")
    .option(
      "--namespace-isolation",
      "pods use networks of their own namespace and of the global ones only, as Multus",
      false,
    )
    .names("--global-namespaces <names>", "with isolation: whose networks everybody may use, with commas", ["default"])
    .names(
      "--trusted-namespaces <names>",
      "whose network attachment definitions may make a pool of all a domain of its own (enable_overlapping_ranges: false), beside those in the system namespace, with commas; as the controller has it",
      ["default"],
    )
    .names(
      "--configuration-folders <folders>",
      "below which a network's configuration_path may name a file, with commas",
      flatFileFolders,
    )
    .daemon(9465)
    .duration("--cooldown-seconds", "how long an address that was freed rests before another gets it", 30, 31_536_000)
    .duration(
      "--slice-authority-hours",
      "how long it hands out of its slices while the API server is away; others get them after twice that at the earliest",
      12,
    )
    .duration(
      "--restore-settle-seconds",
      "after a restore of the API server, how long the nodes have to make their holds again before any hands out of shared ranges; alike on all nodes (default: 60, and one more for every 50 nodes)",
    )
    .option(
      "--ovn-management-port <interface>",
      "the node's own port on its OVN switch, such as ovn-k8s-mp0: neighbours of VMs that have moved are told there where they are now, and the Node is told which chassis it is (default: off)",
    )
    .option(
      "--ovn-gateway <interface>",
      "with --ovn-management-port: the bridge with the node's address and default route, such as br-ex, by which pods and VMs leave (default: none)",
    )
    .option("--ovs-database <endpoint>", "Open vSwitch of this node", "unix:/run/openvswitch/db.sock");
  const attaches =
    "attach pods to networks of OVN by this northbound database, that of the node's zone; without it they are refused. With --ovn-transit-subnets and --ovn-management-port the zone is written too";
  return withOvnFlags(command, attaches).action(
    ({
      nodeName = process.env["NODE_NAME"] ?? "",
      ...options
    }: Omit<NodeOptions, "nodeName"> & { nodeName?: string }) => {
      if (nodeName === "")
        throw new UsageError("--node-name is missing: give the node's name as `kubectl get nodes` prints it.");
      return node({ ...options, nodeName }, output);
    },
  );
}
