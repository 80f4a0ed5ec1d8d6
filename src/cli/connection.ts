// How a command reaches its cluster: the kubeconfig it was given, else the pod it runs in, else KUBECONFIG or ~/.kube/config.
import type { Command } from "commander";

import { type ClusterConfig, ConfigError } from "../kube/config/cluster-config.ts";
import { connect, type Connection } from "../kube/config/connect.ts";
import { loadInClusterConfig } from "../kube/config/in-cluster.ts";
import { loadKubeconfig } from "../kube/config/kubeconfig.ts";
import { UsageError } from "./usage-error.ts";

export interface ConnectionOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function withConnectionOptions(command: Command): Command {
  return command
    .option(
      "--kubeconfig <file>",
      "how to reach the API server (default: in a pod its service account, else KUBECONFIG)",
    )
    .option("--context <name>", "which context of the kubeconfig");
}

export async function clusterConfig(options: ConnectionOptions): Promise<ClusterConfig> {
  const { kubeconfig, context } = options;
  try {
    if (kubeconfig === undefined && context === undefined && process.env["KUBERNETES_SERVICE_HOST"] !== undefined) {
      return await loadInClusterConfig();
    }
    return await loadKubeconfig({ path: kubeconfig, context });
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, 1, { cause: error });
    throw error;
  }
}

export async function connectTo(options: ConnectionOptions, userAgent: string): Promise<Connection> {
  return connect(await clusterConfig(options), { userAgent });
}
