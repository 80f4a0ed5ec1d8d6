// `holdfast agent`, put together: connection, metrics, the wire, and the agent.
import { hostname } from "node:os";

import { Registry } from "prom-client";

import { runAgent } from "../src/agent/agent.ts";
import { AgentError } from "../src/agent/error.ts";
import { parseRelays } from "../src/agent/relays.ts";
import { parseTarget } from "../src/agent/target.ts";
import { UsageError } from "../src/cli/cluster-command.ts";
import { clusterConfig, stopSignal } from "../src/cli/connection.ts";
import type { AgentCommandOptions } from "../src/cli/dhcp/agent.ts";
import { trustedNamespaces } from "../src/cluster/trusted-namespaces.ts";
import { openWire } from "../src/dhcp/socket/open.ts";
import { realClock } from "../src/kube/clock.ts";
import { connect } from "../src/kube/config/connect.ts";
import { trimHeap } from "../src/kube/process/heap-trim.ts";
import { KubeMetrics } from "../src/kube/process/metrics.ts";
import { makeLog } from "../src/log/log.ts";

export async function agent(options: AgentCommandOptions): Promise<void> {
  const { logLevel, logFormat, systemNamespace, state } = options;
  const name = options.agentName === "" ? `${hostname()}-${process.pid}` : options.agentName;
  const write = (line: string) => void process.stderr.write(`${line}\n`);
  const log = makeLog({ write, level: logLevel, format: logFormat, now: Date.now }).with({ agent: name });
  const registry = new Registry();
  const kubeMetrics = new KubeMetrics(registry);
  await using connection = connect(await clusterConfig(options), {
    userAgent: `holdfast-agent/${name}`,
    observe: kubeMetrics.call,
  });
  const signal = stopSignal();
  void trimHeap({ clock: realClock }, signal);
  try {
    await runAgent(
      {
        client: connection.client,
        clock: realClock,
        log,
        systemNamespace,
        name,
        targets: [
          ...options.network.map((text) => parseTarget("network", text)),
          ...options.pool.map((text) => parseTarget("pool", text)),
        ],
        trusted: trustedNamespaces(systemNamespace, options.trustedNamespaces),
        relays: parseRelays(options.relay),
        openWire,
        ...(options.netns !== undefined && { netns: options.netns }),
        ...(state !== "" && { state: { folder: state } }),
        health: { host: options.metricsHost, port: options.metricsPort },
        registry,
        kubeMetrics,
        handOverMs: options.handOverMs,
        onListen: (port) => log.info("listening", { what: "health", port }),
      },
      signal,
    );
  } catch (error) {
    if (error instanceof AgentError) throw new UsageError(error.message, 2, { cause: error });
    throw error;
  }
}
