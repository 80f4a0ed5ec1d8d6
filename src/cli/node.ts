// `holdfast node`: the daemon of one node, which the CNI plugin asks.
import { Command, Option } from "commander";

import { flatFileFolders } from "../cni/config/merge.ts";
import { type Level, levels } from "../log/log.ts";
import { type ConnectionOptions, withConnectionOptions } from "./connection.ts";
import type { Output } from "./program.ts";
import { UsageError } from "./usage-error.ts";

export interface NodeOptions extends ConnectionOptions {
  readonly nodeName: string;
  readonly socket: string;
  readonly state: string;
  readonly systemNamespace: string;
  readonly namespaceIsolation: boolean;
  readonly globalNamespaces: readonly string[];
  readonly configurationFolders: readonly string[];
  /** 0: a free one. */
  readonly metricsPort: number;
  readonly metricsHost: string;
  readonly logLevel: Level;
  readonly logFormat: "json" | "text";
  readonly cooldownMs: number;
  /** How long it hands out of its slices without hearing from the API server. */
  readonly sliceAuthorityMs: number;
  /** How long it hands out nothing of shared ranges after a restore of the API server; undefined: by the number of nodes. */
  readonly restoreSettleMs?: number;
}

/** Runs until it is told to stop. */
export type RunNode = (options: NodeOptions, output: Output) => Promise<void>;

type Flags = Omit<
  NodeOptions,
  | "globalNamespaces"
  | "configurationFolders"
  | "metricsPort"
  | "cooldownMs"
  | "nodeName"
  | "sliceAuthorityMs"
  | "restoreSettleMs"
> & {
  readonly nodeName?: string;
  readonly globalNamespaces: string;
  readonly configurationFolders: string;
  readonly metricsPort: string;
  readonly cooldownSeconds: string;
  readonly sliceAuthorityHours: string;
  readonly restoreSettleSeconds?: string;
};

export function nodeCommand(output: Output, node: RunNode): Command {
  return withConnectionOptions(
    new Command("node").description(
      "Run the daemon of one node: it serves the CNI plugin on a unix socket. One per node, as root; docs/node.md is for the person who runs it.",
    ),
  )
    .option("--node-name <name>", "the node's name in the cluster (default: the variable NODE_NAME)")
    .option("--socket <file>", "where the CNI plugin finds it", "/run/holdfast/cni.sock")
    .option(
      "--state <folder>",
      "what must survive a restart: releases still to be done, the journal of its slices, and `spool`, where the plugin keeps a DEL while no daemon runs",
      "/var/lib/holdfast",
    )
    .option("--system-namespace <name>", "where pools and the shared state are", "kube-system")
    .option(
      "--namespace-isolation",
      "pods use networks of their own namespace and of the global ones only, as Multus",
      false,
    )
    .option("--global-namespaces <names>", "with isolation: whose networks everybody may use, with commas", "default")
    .option(
      "--configuration-folders <folders>",
      "below which a network's configuration_path may name a file, with commas",
      flatFileFolders.join(","),
    )
    .option("--metrics-port <number>", "port of /metrics, /healthz and /readyz; 0 takes a free one", "9465")
    .option("--metrics-host <address>", "address to serve them on", "0.0.0.0")
    .addOption(new Option("--log-level <level>", "what to log").choices(levels).default("info"))
    .addOption(new Option("--log-format <format>", "how to log").choices(["json", "text"]).default("json"))
    .option("--cooldown-seconds <number>", "how long an address that was freed rests before another gets it", "30")
    .option(
      "--slice-authority-hours <number>",
      "how long it hands out of its slices while the API server is away; others get them after twice that at the earliest",
      "12",
    )
    .option(
      "--restore-settle-seconds <number>",
      "after a restore of the API server, how long the nodes have to make their holds again before any hands out of shared ranges; alike on all nodes (default: 60, and one more for every 50 nodes)",
    )
    .action((flags: Flags) => node(optionsOf(flags), output));
}

function optionsOf(flags: Flags): NodeOptions {
  const {
    nodeName,
    globalNamespaces,
    configurationFolders,
    metricsPort,
    cooldownSeconds,
    sliceAuthorityHours,
    restoreSettleSeconds,
    ...rest
  } = flags;
  const name = nodeName ?? process.env["NODE_NAME"] ?? "";
  if (name === "")
    throw new UsageError("--node-name is missing: give the node's name as `kubectl get nodes` prints it.");
  return {
    ...rest,
    nodeName: name,
    globalNamespaces: listOf(globalNamespaces),
    configurationFolders: listOf(configurationFolders),
    metricsPort: numberOf("--metrics-port", metricsPort, 65_535),
    cooldownMs: 1000 * numberOf("--cooldown-seconds", cooldownSeconds, 31_536_000),
    sliceAuthorityMs: 3_600_000 * numberOf("--slice-authority-hours", sliceAuthorityHours, 8760),
    ...(restoreSettleSeconds !== undefined && {
      restoreSettleMs: 1000 * numberOf("--restore-settle-seconds", restoreSettleSeconds, 86_400),
    }),
  };
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function numberOf(flag: string, text: string, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= max) return value;
  throw new UsageError(`${flag} ${JSON.stringify(text)} is no number that it takes: give 0 to ${max}.`);
}
