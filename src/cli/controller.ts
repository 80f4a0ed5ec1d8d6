// `holdfast controller`: the leader of a cluster. Mirrors, free maps, the shared state, leak collection.
import { Command, Option } from "commander";

import { persistenceLabelName } from "../api/claims/claim-marks.ts";
import { type GateMode, gateModes } from "../claims/leader/feature-gate.ts";
import { defaultUpstreamNamespaces } from "../ledger/coexistence/upstream.ts";
import { type Level, levels } from "../log/log.ts";
import { type CutRules, defaultCutLimits, trustedNamespaces } from "../slices/ranges/consent.ts";
import { type ConnectionOptions, withConnectionOptions } from "./connection.ts";
import type { Output } from "./program.ts";
import { UsageError } from "./usage-error.ts";

export interface ControllerOptions extends ConnectionOptions {
  readonly systemNamespace: string;
  readonly leaderElect: boolean;
  /** 0: a free one. */
  readonly metricsPort: number;
  readonly metricsHost: string;
  readonly cooldownMs: number;
  /** Between two observations of a leak. */
  readonly observeMs: number;
  /** Before a second address of one interface counts as left behind. */
  readonly supersededMs: number;
  readonly allowMassRelease: boolean;
  /** How far back a sign of whereabouts counts. */
  readonly lookBackMs: number;
  /** Where whereabouts may run: namespaces that only administrators write. */
  readonly whereaboutsNamespaces: readonly string[];
  /** So long nothing is heard of a node before a taint, a deletion or an operator's word about it counts. */
  readonly fenceSilenceMs: number;
  /** After so long without its Node and without a renewed Lease, a node's slices go to others. */
  readonly sliceQuarantineMs: number;
  /** A Node is deleted only when its machine is gone: its slices go to others as soon as it is silent. */
  readonly nodeDeletionFences: boolean;
  /** Namespaces whose definitions may cut ranges into slices wherever the pools are, and the limits. */
  readonly cutRules: CutRules;
  /** Persistent addresses for virtual machines. */
  readonly persistentIps: GateMode;
  /** Only VMs with the label get them. */
  readonly persistentIpsLabel: boolean;
  /** Of the webhooks about launcher pods and claims; 0: a free one; undefined: they are off. */
  readonly webhookPort?: number;
  readonly logLevel: Level;
  readonly logFormat: "json" | "text";
}

/** Runs until it is told to stop, or loses the lease. */
export type RunController = (options: ControllerOptions, output: Output) => Promise<void>;

type Flags = ConnectionOptions & {
  readonly systemNamespace: string;
  readonly leaderElect: boolean;
  readonly metricsPort: string;
  readonly metricsHost: string;
  readonly cooldownSeconds: string;
  readonly observeSeconds: string;
  readonly supersededSeconds: string;
  readonly whereaboutsSilentMinutes: string;
  readonly whereaboutsNamespaces: string;
  readonly allowMassRelease: boolean;
  readonly fenceSilenceSeconds: string;
  readonly sliceQuarantineHours: string;
  readonly nodeDeletionFences: boolean;
  readonly trustedNamespaces: string;
  readonly maxSlicedRangesPerDefinition: string;
  readonly maxSlicedRangesPerNamespace: string;
  readonly maxSlicesPerNamespace: string;
  readonly persistentIps: GateMode;
  readonly persistentIpsLabel: boolean;
  readonly webhookPort?: string;
  readonly logLevel: Level;
  readonly logFormat: "json" | "text";
};

export function controllerCommand(output: Output, controller: RunController): Command {
  return withConnectionOptions(
    new Command("controller").description(
      "Run the controller of a cluster: mirrors and free maps of pools, coexistence with whereabouts, leak collection, slices of nodes, persistent addresses of virtual machines. One of its replicas leads.",
    ),
  )
    .option("--system-namespace <name>", "where pools, the lease and the shared state are", "kube-system")
    .option("--no-leader-elect", "lead at once, without a lease; only where no other runs")
    .option("--metrics-port <number>", "port of /metrics, /healthz and /readyz; 0 takes a free one", "9477")
    .option("--metrics-host <address>", "address to serve them on", "0.0.0.0")
    .option("--cooldown-seconds <number>", "how long an address that was freed rests before another gets it", "30")
    .option("--observe-seconds <number>", "time between the two looks that a leak takes, at least", "30")
    .option(
      "--superseded-seconds <number>",
      "how long a second address of one interface is left alone: more than kubelets give a new sandbox, 240",
      "300",
    )
    .option(
      "--whereabouts-silent-minutes <number>",
      "`holdfast coexistence off` takes effect when whereabouts has written nothing for so long; 3 where you have removed it from every node",
      "60",
    )
    .option(
      "--whereabouts-namespaces <names>",
      "where whereabouts is looked for, beside the system namespace, with commas: only administrators may write there",
      defaultUpstreamNamespaces.join(","),
    )
    .option("--allow-mass-release", "free leaks even where more than 30 % of all addresses look leaked at once", false)
    .option(
      "--fence-silence-seconds <number>",
      "so long nothing is heard of a node before its out-of-service taint, its deletion or an operator's word counts; less is for tests",
      "300",
    )
    .option(
      "--slice-quarantine-hours <number>",
      "a node that is deleted keeps its slices so long after it was last heard; never less than twice what a daemon may do on its own",
      "24",
    )
    .option(
      "--node-deletion-fences",
      "give the slices of a deleted node to others as soon as it is silent; only where a Node is deleted when its machine is gone",
      false,
    )
    .option(
      "--trusted-namespaces <names>",
      "whose network attachment definitions may cut ranges into slices wherever the pools are, beside those in the system namespace, with commas: only administrators may write there. Others may with pool_namespace: nad",
      "default",
    )
    .option(
      "--max-sliced-ranges-per-definition <number>",
      "more, and it gets no slices",
      `${defaultCutLimits.rangesPerDefinition}`,
    )
    .option(
      "--max-sliced-ranges-per-namespace <number>",
      "of all definitions in it; what has slices keeps them",
      `${defaultCutLimits.rangesPerNamespace}`,
    )
    .option(
      "--max-slices-per-namespace <number>",
      "nodes times sliced ranges of a namespace that is not trusted; what has slices keeps them",
      `${defaultCutLimits.slicesPerNamespace}`,
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
      "--webhook-port <number>",
      "serve the webhooks of deploy/webhooks.yaml on this port: references in launcher pods, protection of claims (default: off)",
    )
    .addOption(new Option("--log-level <level>", "what to log").choices(levels).default("info"))
    .addOption(new Option("--log-format <format>", "how to log").choices(["json", "text"]).default("json"))
    .action((flags: Flags) => controller(optionsOf(flags), output));
}

function optionsOf(flags: Flags): ControllerOptions {
  const {
    metricsPort,
    cooldownSeconds,
    observeSeconds,
    supersededSeconds,
    whereaboutsSilentMinutes,
    whereaboutsNamespaces,
    fenceSilenceSeconds,
    sliceQuarantineHours,
    trustedNamespaces: trusted,
    maxSlicedRangesPerDefinition,
    maxSlicedRangesPerNamespace,
    maxSlicesPerNamespace,
    webhookPort,
    ...rest
  } = flags;
  return {
    ...rest,
    ...(webhookPort !== undefined && { webhookPort: numberOf("--webhook-port", webhookPort, 65_535) }),
    cutRules: {
      ...defaultCutLimits,
      trusted: trustedNamespaces(flags.systemNamespace, namesIn(trusted)),
      rangesPerDefinition: numberOf("--max-sliced-ranges-per-definition", maxSlicedRangesPerDefinition, 1000),
      rangesPerNamespace: numberOf("--max-sliced-ranges-per-namespace", maxSlicedRangesPerNamespace, 100_000),
      slicesPerNamespace: numberOf("--max-slices-per-namespace", maxSlicesPerNamespace, 10_000_000),
    },
    fenceSilenceMs: 1000 * numberOf("--fence-silence-seconds", fenceSilenceSeconds, 86_400),
    sliceQuarantineMs: 3_600_000 * numberOf("--slice-quarantine-hours", sliceQuarantineHours, 8760),
    whereaboutsNamespaces: namesIn(whereaboutsNamespaces),
    lookBackMs: 60_000 * numberOf("--whereabouts-silent-minutes", whereaboutsSilentMinutes, 10_080),
    metricsPort: numberOf("--metrics-port", metricsPort, 65_535),
    cooldownMs: 1000 * numberOf("--cooldown-seconds", cooldownSeconds, 86_400),
    supersededMs: 1000 * numberOf("--superseded-seconds", supersededSeconds, 86_400),
    observeMs: 1000 * numberOf("--observe-seconds", observeSeconds, 86_400),
  };
}

const namesIn = (text: string) => text.split(",").flatMap((each) => each.trim() || []);

export function numberOf(flag: string, text: string, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= max) return value;
  throw new UsageError(`${flag} ${JSON.stringify(text)} is no number that it takes: give 0 to ${max}.`);
}
