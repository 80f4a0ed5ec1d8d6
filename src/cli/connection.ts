// How a command reaches its cluster: the kubeconfig it was given, else the pod it runs in, else KUBECONFIG or ~/.kube/config.
import { connect, type Connection } from "../kube/config/connect.ts";
import { type ClusterConfig, ConfigError } from "../kube/config/credentials.ts";
import { loadInClusterConfig } from "../kube/config/in-cluster.ts";
import { loadKubeconfig } from "../kube/config/kubeconfig.ts";
import type { ConnectionOptions } from "./cluster-command.ts";
import { UsageError } from "./usage-error.ts";

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
