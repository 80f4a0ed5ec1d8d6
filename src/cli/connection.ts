// How a command reaches its cluster: the given kubeconfig, else the pod it runs in, else KUBECONFIG or ~/.kube/config,
// else, for what a person types, the `holdfast up` of this user.
import { existsSync } from "node:fs";

import { connect } from "../kube/config/connect.ts";
import { type ClusterConfig, ConfigError } from "../kube/config/credentials.ts";
import { loadInClusterConfig } from "../kube/config/in-cluster.ts";
import { loadKubeconfig, userKubeconfig } from "../kube/config/kubeconfig.ts";
import { ApiError } from "../kube/errors.ts";
import type { KubeClient } from "../kube/rest.ts";
import { CodedError } from "../net/coded-error.ts";
import { type ConnectionOptions, UsageError } from "./cluster-command.ts";
import { defaultFolder, kubeconfigIn } from "./local/up-folder.ts";

export async function clusterConfig({ kubeconfig, context }: ConnectionOptions): Promise<ClusterConfig> {
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

/** Of `holdfast up`, where this user has told of no other cluster. Never for a daemon: it would serve the wrong one. */
function ownKubeconfig(): string | undefined {
  if (process.env["KUBERNETES_SERVICE_HOST"] !== undefined) return undefined;
  const path = kubeconfigIn(defaultFolder());
  return (process.env["KUBECONFIG"] ?? "") === "" && !existsSync(userKubeconfig()) && existsSync(path)
    ? path
    : undefined;
}

/**
 * Aborts when somebody ends the process; a second time, the process ends at once. `SIGHUP` is for what goes on at a
 * terminal: with a listener, `nohup` would keep nothing alive.
 */
export function stopSignal(...more: readonly "SIGHUP"[]): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", ...more] as const) {
    process.once(name, () => stop.abort(new UsageError(`it was called off (${name}).`, 1)));
  }
  return stop.signal;
}

/** Connected for as long as the work takes. A refusal, the server's or ours, is a sentence without a stack. */
export async function connected<T>(
  options: ConnectionOptions,
  work: (client: KubeClient, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = options.kubeconfig === undefined ? ownKubeconfig() : undefined;
  const config = await clusterConfig({ ...options, ...(own !== undefined && { kubeconfig: own }) });
  await using connection = connect(config, { userAgent: "holdfast" });
  try {
    return await work(connection.client, stopSignal("SIGHUP"));
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof CodedError)) throw error;
    const remedy = "the cluster does not have all of our kinds: kubectl apply -f deploy/holdfast.yaml, then ask again.";
    const isMissing = error instanceof ApiError && error.message.includes("could not find the requested resource");
    throw new UsageError(isMissing ? `${error.message} ${remedy}` : error.message, 1, { cause: error });
  }
}
