// `holdfast node`, put together: connection, metrics, the kernel's part, and the daemon.
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";

import { Registry } from "prom-client";

import { UsageError } from "../src/cli/cluster-command.ts";
import { clusterConfig, stopSignal } from "../src/cli/connection.ts";
import type { NodeOptions } from "../src/cli/node.ts";
import { northboundOf, ownZoneOf } from "../src/cli/ovn-flags.ts";
import type { CallReport } from "../src/kube/call.ts";
import { connect } from "../src/kube/config/connect.ts";
import { KubeMetrics } from "../src/kube/process/metrics.ts";
import type { Runnable } from "../src/kube/process/stages.ts";
import { JournalError } from "../src/ledger/journal/error.ts";
import { makeLog } from "../src/log/log.ts";
import { gatewayOf } from "../src/migration/node-side/gateway.ts";
import { nodeSide, type NodeSideOptions } from "../src/migration/node-side/side.ts";
import { runDaemon } from "../src/node/daemon.ts";
import { nodeMetrics } from "../src/node/metrics.ts";
import { sayOn } from "../src/node/migration/management-port.ts";
import { sawRarp } from "../src/node/migration/rarp-watch.ts";
import { realMachine } from "../src/node/real-machine.ts";

export async function node(options: NodeOptions): Promise<void> {
  const { logLevel, logFormat, nodeName, systemNamespace, ovnManagementPort: port } = options;
  const { ovsDatabase: switchEndpoints, ovnMtu: mtu } = options;
  const northbound = northboundOf(options);
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
  const { client } = connection;
  const { clock } = realMachine;
  const watch: NodeSideOptions["watch"] = (link, mac, signal) => sawRarp(link, mac, clock, signal);
  const shared = { client, clock, log, systemNamespace, node: nodeName, watch };
  const runnables = port === undefined ? [] : [ovnSide(options, { ...shared, say: (frames) => sayOn(port, frames) })];
  try {
    await runDaemon(
      {
        ...options,
        client,
        runnables,
        node: nodeName,
        isolation: { isolated: options.namespaceIsolation, globalNamespaces: options.globalNamespaces },
        health: { host: options.metricsHost, port: options.metricsPort },
        metrics,
        kubeMetrics,
        ...realMachine,
        ...(northbound && { ovnPlace: { northbound, switchEndpoints, mtu } }),
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

function ovnSide(options: NodeOptions, shared: Omit<NodeSideOptions, "gateway" | "switchEndpoints">): Runnable {
  const { nodeName, ovnGateway: link, ovsDatabase: switchEndpoints } = options;
  const ownZone = ownZoneOf(options);
  const zoned = { ...shared, switchEndpoints, ...(ownZone && { ownZone }) };
  if (link === undefined) return nodeSide(zoned);
  const gateway = (mappings: ReadonlyMap<string, string>) =>
    gatewayOf({
      node: nodeName,
      link,
      addresses: networkInterfaces()[link] ?? [],
      routes4: readFileSync("/proc/net/route", "utf8"),
      routes6: readFileSync("/proc/net/ipv6_route", "utf8"),
      mappings,
    });
  return nodeSide({ ...zoned, gateway });
}
