// `holdfast controller`, put together: connection, metrics, events, lease, the leader's work on pools, slices, claims.
import { hostname } from "node:os";

import { Registry } from "prom-client";

import { clusterConfig, stopSignal } from "../src/cli/connection.ts";
import type { ControllerOptions } from "../src/cli/controller.ts";
import { controllerLease } from "../src/cluster/state.ts";
import { trustedNamespaces } from "../src/cluster/trusted-namespaces.ts";
import { assembleController } from "../src/controller/controller.ts";
import { asError } from "../src/kube/abort.ts";
import { realClock } from "../src/kube/clock.ts";
import { connect } from "../src/kube/config/connect.ts";
import { trimHeap } from "../src/kube/process/heap-trim.ts";
import { KubeMetrics } from "../src/kube/process/metrics.ts";
import type { KubeClient } from "../src/kube/rest.ts";
import { type Log, makeLog } from "../src/log/log.ts";
import { defaultLimits } from "../src/pools/leaks/judge.ts";
import { defaultCutLimits } from "../src/slices/ranges/consent.ts";
import { ownImage } from "../src/vmnet/agents/own-image.ts";
import { namedRanges } from "../src/vmnet/rules/cluster-ranges.ts";

export async function controller(options: ControllerOptions): Promise<void> {
  const { systemNamespace, cooldownMs, observeMs, allowMassRelease, logLevel, logFormat } = options;
  const write = (line: string) => void process.stderr.write(`${line}\n`);
  const log = makeLog({ write, level: logLevel, format: logFormat, now: Date.now });
  const registry = new Registry();
  const kubeMetrics = new KubeMetrics(registry);
  await using connection = connect(await clusterConfig(options), {
    userAgent: "holdfast-controller",
    observe: kubeMetrics.call,
  });
  const { client } = connection;
  const instance = process.env["POD_NAME"] ?? `${hostname()}-${process.pid}`;
  const image = options.agentImage ?? (await imageOf(client, systemNamespace, log));
  const assembled = assembleController({
    client,
    clock: realClock,
    log,
    systemNamespace,
    instance,
    cooldownMs,
    limits: { ...defaultLimits, observeMs, supersededMs: options.supersededMs },
    fencing: {
      silentMs: options.fenceSilenceMs,
      quarantineMs: options.sliceQuarantineMs,
      deletionFences: options.nodeDeletionFences,
    },
    allowMassRelease,
    lookBackMs: options.whereaboutsSilentMs,
    whereaboutsNamespaces: options.whereaboutsNamespaces,
    cutRules: {
      ...defaultCutLimits,
      trusted: trustedNamespaces(systemNamespace, options.trustedNamespaces),
      rangesPerDefinition: options.maxSlicedRangesPerDefinition,
      rangesPerNamespace: options.maxSlicedRangesPerNamespace,
      slicesPerNamespace: options.maxSlicesPerNamespace,
    },
    gate: options.persistentIps,
    needsLabel: options.persistentIpsLabel,
    ...(image !== undefined && { agents: { image, replicas: Math.max(1, options.agentReplicas) } }),
    clusterRanges: namedRanges(options.clusterCidrs),
    ...(options.webhookPort !== undefined && { webhook: { port: options.webhookPort } }),
    registry,
    kubeMetrics,
  });
  const onChange = (leads: boolean) => {
    kubeMetrics.leading(controllerLease, leads);
    log.info(leads ? "leading" : "no longer leading", { instance });
  };
  await assembled.run(stopSignal(), {
    health: { port: options.metricsPort, host: options.metricsHost },
    ...(options.leaderElect && { election: { identity: instance, onChange } }),
    runnables: [{ name: "heap", run: (signal) => trimHeap({ clock: realClock }, signal) }],
    onListen: (what, port) => log.info("listening", { what, port }),
  });
}

/** Undefined: it runs outside of a pod, or the server does not say; then no agents of managed DHCP are deployed. */
async function imageOf(client: KubeClient, namespace: string, log: Log): Promise<string | undefined> {
  const name = process.env["POD_NAME"];
  if (name === undefined) return undefined;
  try {
    return await ownImage(client, { namespace, name });
  } catch (error) {
    log.warn("its own image is not known, and no DHCP agents are deployed: give --agent-image", {
      error: asError(error),
    });
    return undefined;
  }
}
