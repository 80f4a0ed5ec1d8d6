// `holdfast controller`, put together: connection, metrics, events, the lease, and the leader's work on pools, slices and claims.
import { hostname } from "node:os";

import { Registry } from "prom-client";

import { ClaimsLeader } from "../src/claims/leader/leader.ts";
import { ClaimMetrics } from "../src/claims/leader/metrics.ts";
import { ReviewMetrics, ClaimsWebhook } from "../src/claims/webhook/server.ts";
import { clusterConfig } from "../src/cli/connection.ts";
import type { ControllerOptions } from "../src/cli/controller.ts";
import { FollowedDefinitions } from "../src/cluster/definition-informer.ts";
import { realClock } from "../src/kube/clock.ts";
import { connect } from "../src/kube/config/connect.ts";
import { EventRecorder } from "../src/kube/events/events.ts";
import { Elector } from "../src/kube/leader.ts";
import { Manager } from "../src/kube/process/manager.ts";
import { KubeMetrics } from "../src/kube/process/metrics.ts";
import { makeLog } from "../src/log/log.ts";
import { PoolsLeader } from "../src/pools/leader.ts";
import { defaultLimits } from "../src/pools/leaks/judge.ts";
import { PoolMetrics } from "../src/pools/metrics.ts";
import { SlicesLeader } from "../src/slices/leader.ts";
import { SliceMetrics } from "../src/slices/metrics.ts";

export const leaseName = "holdfast-controller";

export async function controller(options: ControllerOptions): Promise<void> {
  const { systemNamespace, cooldownMs, observeMs, allowMassRelease, lookBackMs, logLevel, logFormat } = options;
  const write = (line: string) => void process.stderr.write(`${line}\n`);
  const log = makeLog({ write, level: logLevel, format: logFormat, now: Date.now });
  const registry = new Registry();
  const kubeMetrics = new KubeMetrics(registry);
  await using connection = connect(await clusterConfig(options), {
    userAgent: "holdfast-controller",
    observe: kubeMetrics.call,
  });
  const { client } = connection;
  const clock = realClock;
  const instance = process.env["POD_NAME"] ?? `${hostname()}-${process.pid}`;
  const onError = (error: Error) => log.warn("in the background", { error });
  const events = new EventRecorder({ client, component: "holdfast-controller", instance, onError });
  const metrics = new PoolMetrics(registry);
  const limits = { ...defaultLimits, observeMs, supersededMs: options.supersededMs };
  const definitions = new FollowedDefinitions({ client, clock, onError });
  const pools = new PoolsLeader({
    definitions,
    client,
    clock,
    log,
    systemNamespace,
    cooldownMs,
    limits,
    fencing: {
      silentMs: options.fenceSilenceMs,
      quarantineMs: options.sliceQuarantineMs,
      deletionFences: options.nodeDeletionFences,
    },
    allowMassRelease,
    lookBackMs,
    whereaboutsNamespaces: options.whereaboutsNamespaces,
    events,
    metrics,
    kubeMetrics,
  });
  // Nodes, reservations and holds are followed once for all of them.
  const { nodes, presence, reservations, holds } = pools.world;
  const slices = new SlicesLeader({
    client,
    clock,
    log,
    systemNamespace,
    definitions,
    nodes,
    presence,
    reservations,
    holds,
    cutRules: options.cutRules,
    events,
    metrics: new SliceMetrics(registry),
    kubeMetrics,
  });
  const claims = new ClaimsLeader({
    pods: pools.world.pods,
    pools: pools.world.pools,
    nodes,
    presence,
    reservations,
    holds,
    client,
    clock,
    log,
    systemNamespace,
    cooldownMs,
    definitions,
    allowMassRelease,
    trusted: options.cutRules.trusted,
    gate: options.persistentIps,
    needsLabel: options.persistentIpsLabel,
    events,
    metrics: new ClaimMetrics(registry),
    kubeMetrics,
  });
  const onChange = (leads: boolean) => {
    kubeMetrics.leading(leaseName, leads);
    log.info(leads ? "leading" : "no longer leading", { instance });
  };
  const elector = new Elector({
    client,
    namespace: systemNamespace,
    name: leaseName,
    identity: instance,
    onChange,
    onError,
  });
  const webhooks =
    options.webhookPort === undefined
      ? []
      : [
          new ClaimsWebhook({
            client,
            clock,
            systemNamespace,
            definitions: () => definitions.list(),
            port: options.webhookPort,
            onError,
            onListen: (port) => log.info("listening", { what: "webhooks", port }),
            metrics: new ReviewMetrics(registry),
          }),
        ];
  const telling = { name: "events", run: (signal: AbortSignal) => events.run(signal) };
  const everywhere = [telling, ...webhooks];
  const leading = [pools.lead, slices.lead, claims.lead];
  const manager = new Manager({
    health: { port: options.metricsPort, host: options.metricsHost },
    metrics: kubeMetrics,
    informers: [...pools.world.informers, ...claims.informers],
    follows: [pools.followDefinitions, ...claims.follows],
    runnables: options.leaderElect ? everywhere : [...everywhere, ...leading],
    ...(options.leaderElect && { leader: { elector, runnables: leading } }),
    onListen: (what, port) => log.info("listening", { what, port }),
  });
  await manager.run(stopSignal());
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Error(`got ${name}`)));
  return stop.signal;
}
