// `holdfast controller`: the leader of a cluster. Mirrors, free maps, the shared state, leak collection.
import { type Command, Option } from "commander";

import { persistenceLabelName } from "../api/claims/claim-marks.ts";
import { type GateMode, gateModes } from "../claims/leader/feature-gate.ts";
import { defaultUpstreamNamespaces } from "../ledger/coexistence/upstream.ts";
import { defaultCutLimits } from "../slices/ranges/consent.ts";
import { defaultAgentReplicas } from "../vmnet/agents/deployment.ts";
import { ClusterCommand, type DaemonOptions } from "./cluster-command.ts";
import { type OvnFlags, withOvnFlags } from "./ovn-flags.ts";
import type { Output } from "./program.ts";

/** As the options below say. */
export interface ControllerOptions extends DaemonOptions, OvnFlags {
  readonly leaderElect: boolean;
  readonly cooldownMs: number;
  readonly observeMs: number;
  readonly supersededMs: number;
  readonly allowMassRelease: boolean;
  readonly whereaboutsSilentMs: number;
  readonly whereaboutsNamespaces: readonly string[];
  readonly fenceSilenceMs: number;
  readonly sliceQuarantineMs: number;
  readonly nodeDeletionFences: boolean;
  readonly trustedNamespaces: readonly string[];
  readonly maxSlicedRangesPerDefinition: number;
  readonly maxSlicedRangesPerNamespace: number;
  readonly maxSlicesPerNamespace: number;
  readonly persistentIps: GateMode;
  readonly persistentIpsLabel: boolean;
  /** Undefined: that of the controller's own pod. */
  readonly agentImage?: string;
  readonly agentReplicas: number;
  readonly clusterCidrs: readonly string[];
  /** Undefined: no webhooks are served. */
  readonly webhookPort?: number;
}

/** Runs until it is told to stop, or loses the lease. */
export type RunController = (options: ControllerOptions, output: Output) => Promise<void>;

const writes =
  "write OVN's northbound database there: the topology of the default network, and live migration of VMs on it";

export function controllerCommand(output: Output, controller: RunController): Command {
  const command = new ClusterCommand("controller")
    .description(
      "Run the controller of a cluster: mirrors and free maps of pools, coexistence with whereabouts, leak collection, slices of nodes, persistent addresses of virtual machines, managed DHCP, with --ovn-northbound or --ovn-transit-subnets the default network on OVN and live migration on it. One of its replicas leads.",
    )
    .systemNamespace("where pools, the lease and the shared state are")
    .option("--no-leader-elect", "lead at once, without a lease; only where no other runs")
    .daemon(9477)
    .duration("--cooldown-seconds", "how long an address that was freed rests before another gets it", 30)
    .duration("--observe-seconds", "time between the two looks that a leak takes, at least", 30)
    .duration(
      "--superseded-seconds",
      "how long a second address of one interface is left alone: more than kubelets give a new sandbox, 240",
      300,
    )
    .duration(
      "--whereabouts-silent-minutes",
      "`holdfast coexistence off` takes effect when whereabouts has written nothing for so long; 3 where you have removed it from every node",
      60,
    )
    .names(
      "--whereabouts-namespaces <names>",
      "where whereabouts is looked for, beside the system namespace, with commas: only administrators may write there",
      defaultUpstreamNamespaces,
    )
    .option("--allow-mass-release", "free leaks even where more than 30 % of all addresses look leaked at once", false)
    .duration(
      "--fence-silence-seconds",
      "so long nothing is heard of a node before its out-of-service taint, its deletion or an operator's word counts; less is for tests",
      300,
    )
    .duration(
      "--slice-quarantine-hours",
      "a node that is deleted keeps its slices so long after it was last heard; never less than twice what a daemon may do on its own",
      24,
    )
    .option(
      "--node-deletion-fences",
      "give the slices of a deleted node to others as soon as it is silent; only where a Node is deleted when its machine is gone",
      false,
    )
    .names(
      "--trusted-namespaces <names>",
      "whose network attachment definitions may cut ranges into slices wherever the pools are, and make a pool a domain of its own, beside those in the system namespace, with commas: only administrators may write there. Others may with pool_namespace: nad",
      ["default"],
    )
    .number(
      "--max-sliced-ranges-per-definition",
      "more, and it gets no slices",
      1000,
      defaultCutLimits.rangesPerDefinition,
    )
    .number(
      "--max-sliced-ranges-per-namespace",
      "of all definitions in it; what has slices keeps them",
      100_000,
      defaultCutLimits.rangesPerNamespace,
    )
    .number(
      "--max-slices-per-namespace",
      "nodes times sliced ranges of a namespace that is not trusted; what has slices keeps them",
      10_000_000,
      defaultCutLimits.slicesPerNamespace,
    )
    .addOption(
      new Option(
        "--persistent-ips <when>",
        "persistent addresses for virtual machines on networks with allowPersistentIPs; off: no new claims, what is held stays held; kubevirt: as the feature gate VMPersistentIPs of the KubeVirt object says",
      )
        .choices(gateModes)
        .default("on"),
    )
    .option(
      "--persistent-ips-label",
      `only for VMs with the label ${persistenceLabelName}: "true", on them or on their template`,
      false,
    )
    .option(
      "--agent-image <image>",
      "what the DHCP agents of managed pools run (default: the image of the controller's own pod; outside of a pod none are deployed)",
    )
    .number(
      "--agent-replicas",
      "how many agents a managed pool has that names no number itself",
      9,
      defaultAgentReplicas,
    )
    .names(
      "--cluster-cidrs <cidrs>",
      "ranges of services and pods that no pool of managed DHCP may overlap, beside those of ServiceCIDR objects and of nodes, with commas",
      [],
    )
    .number(
      "--webhook-port",
      "serve the webhooks of deploy/webhooks.yaml on this port: references in launcher pods, protection of claims, checks of managed DHCP (default: off)",
      65_535,
    );
  return withOvnFlags(command, writes).action((options: ControllerOptions) => controller(options, output));
}
