// `holdfast agent`: the DHCP agent of one or many VM networks.
import { type Command, Option } from "commander";

import { ClusterCommand, collected, type DaemonOptions, UsageError } from "../cluster-command.ts";
import type { Output } from "../program.ts";

export interface AgentCommandOptions extends DaemonOptions {
  /** NAMESPACE/NAME=INTERFACE. */
  readonly network: readonly string[];
  readonly pool: readonly string[];
  readonly trustedNamespaces: readonly string[];
  readonly agentName: string;
  /** Empty: nothing is kept. */
  readonly state: string;
  readonly handOverMs: number;
  /** `links`, or an address. */
  readonly relay: readonly string[];
  /** Path. */
  readonly netns?: string;
}

/** Runs until it is told to stop. */
export type RunAgent = (options: AgentCommandOptions, output: Output) => Promise<void>;

export function agentCommand(output: Output, agent: RunAgent): Command {
  return new ClusterCommand("agent")
    .description(
      "Run a DHCP agent: it answers the VMs of managed networks on interfaces of this host or pod. Two or more of one network give the same answers. Needs CAP_NET_RAW.",
    )
    .addOption(several("--network", "a NetworkAttachmentDefinition, with all of its pools, and where its VMs are"))
    .addOption(several("--pool", "one pool (ippl), and where the VMs of its network are"))
    .names(
      "--trusted-namespaces <names>",
      "whose pools may name a network, beside those of its own and of the system namespace, with commas: only administrators may write there",
      ["default"],
    )
    .option("--agent-name <name>", "its own name, different for every agent (default: the variable POD_NAME)")
    .option(
      "--state <folder>",
      "where it keeps what it served last, for a start while the API server is away; empty: nowhere",
      "/var/lib/holdfast-agent",
    )
    .option("--netns <path>", "the network namespace of the interfaces, like /run/netns/vms (default: its own)")
    .addOption(
      new Option(
        "--relay <where>",
        "answer DHCP relays too: links, on the interfaces that are served, where guests could do as a relay does; or an address of this host, by UDP at port 67; may be repeated",
      )
        .argParser(collected)
        .default([], "none"),
    )
    .systemNamespace("where Holds and Leases are")
    .duration("--hand-over-seconds", "when it is told to stop, how long it answers on for another to take over", 3, 60)
    .daemon(9466)
    .action(({ agentName, ...options }: Omit<AgentCommandOptions, "agentName"> & { readonly agentName?: string }) => {
      const name = agentName ?? process.env["POD_NAME"] ?? "";
      if (options.network.length + options.pool.length === 0) {
        throw new UsageError("nothing to serve is named: give --network or --pool, NAMESPACE/NAME=INTERFACE.");
      }
      return agent({ ...options, agentName: name }, output);
    });
}

function several(flag: string, description: string): Option {
  const option = new Option(`${flag} <namespace/name=interface>`, `${description}; may be repeated`);
  return option.argParser(collected).default([], "none");
}
