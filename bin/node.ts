// `holdfast node`, put together: connection, metrics, the kernel's part, and the daemon.
import { Registry } from "prom-client";

import { UsageError } from "../src/cli/cluster-command.ts";
import { clusterConfig, stopSignal } from "../src/cli/connection.ts";
import type { NodeOptions } from "../src/cli/node.ts";
import type { CallReport } from "../src/kube/call.ts";
import { connect } from "../src/kube/config/connect.ts";
import { KubeMetrics } from "../src/kube/process/metrics.ts";
import { JournalError } from "../src/ledger/journal/error.ts";
import { makeLog } from "../src/log/log.ts";
import { runDaemon } from "../src/node/daemon.ts";
import { nodeMetrics } from "../src/node/metrics.ts";
import { realMachine } from "../src/node/real-machine.ts";

export async function node(options: NodeOptions): Promise<void> {
  const {
    logLevel,
    logFormat,
    nodeName,
    ovnNorthbound: endpoints,
    ovsDatabase: switchEndpoints,
    ovnMtu: mtu,
  } = options;
  const write = (line: string) => void process.stderr.write(`${line}\n`);
  const log = makeLog({ write, level: logLevel, format: logFormat, now: Date.now }).with({ node: nodeName });
  const registry = new Registry();
  const kubeMetrics = new KubeMetrics(registry);
  const metrics = nodeMetrics(registry);
  const observe = (report: CallReport) => {
    kubeMetrics.call(report);
    metrics.call(report);
  };
  await using connection = connect(await clusterConfig(options), { userAgent: `holdfast-node/${nodeName}`, observe });
  try {
    await runDaemon(
      {
        ...options,
        client: connection.client,
        node: nodeName,
        isolation: { isolated: options.namespaceIsolation, globalNamespaces: options.globalNamespaces },
        health: { host: options.metricsHost, port: options.metricsPort },
        metrics,
        kubeMetrics,
        ...realMachine,
        ...(endpoints !== undefined && { ovnPlace: { northbound: { endpoints }, switchEndpoints, mtu } }),
        folders: options.configurationFolders,
        log,
        onListen: () => log.info("listening", { socket: options.socket }),
      },
      stopSignal(),
    );
  } catch (error) {
    if (error instanceof JournalError) throw new UsageError(error.message, 1, { cause: error });
    throw error;
  }
}
