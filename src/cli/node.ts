// `holdfast node`: the daemon of one node, which the CNI plugin asks.
import type { Command } from "commander";

import { flatFileFolders } from "../cni/config/merge.ts";
import { ClusterCommand, type DaemonOptions, UsageError } from "./cluster-command.ts";
import type { Output } from "./program.ts";

export interface NodeOptions extends DaemonOptions {
  readonly nodeName: string;
  readonly socket: string;
  readonly state: string;
  readonly namespaceIsolation: boolean;
  readonly globalNamespaces: readonly string[];
  readonly trustedNamespaces: readonly string[];
  readonly configurationFolders: readonly string[];
  readonly ovnNorthbound?: string;
  readonly ovsDatabase: string;
  readonly ovnMtu: number;
  readonly cooldownMs: number;
  readonly sliceAuthorityMs: number;
  /** How long shared ranges hand out nothing after a restore of the API server; undefined: by the number of nodes. */
  readonly restoreSettleMs?: number;
}

/** Runs until it is told to stop. */
export type RunNode = (options: NodeOptions, output: Output) => Promise<void>;

export function nodeCommand(output: Output, node: RunNode): Command {
  return new ClusterCommand("node")
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
    .option(
      "--ovn-northbound <endpoints>",
      "attach pods to networks of OVN: its northbound database, that of this node's zone (`unix:/…`, `tcp:…`, with commas); without it networks of OVN are refused",
    )
    .option(
      "--ovs-database <endpoint>",
      "with --ovn-northbound: Open vSwitch of this node",
      "unix:/run/openvswitch/db.sock",
    )
    .number(
      "--ovn-mtu",
      "with --ovn-northbound: of interfaces whose definition names none; that of the nodes' network less 58 (geneve), 100 to be safe",
      65_535,
      1400,
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
    .action(
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
