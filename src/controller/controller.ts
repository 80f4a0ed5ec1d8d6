// A controller, put together: the informers that its reconcilers share, and their work under the lease. The one place
// for it: `holdfast controller`, `holdfast up`, tests and benchmarks differ by options only. Promised: every replica
// follows; only the leader reconciles. What `reconcilers` leaves out is not made.
import type { Registry } from "prom-client";

import { ClaimsLeader, type ClaimsOptions } from "../claims/leader/leader.ts";
import { claimMetrics } from "../claims/leader/metrics.ts";
import { claimsHandlers } from "../claims/webhook/handlers.ts";
import { DefinitionInformer } from "../cluster/definition-informer.ts";
import { defaultRules, type FenceRules } from "../cluster/fencing.ts";
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import { configMaps } from "../cluster/resources.ts";
import { controllerLease, restoredKey, stateName } from "../cluster/state.ts";
import { claimsWebhooks, vmnetWebhooks, webhookServiceName } from "../cluster/webhooks.ts";
import { ReviewMetrics, WebhookServer, type WebhookServerOptions } from "../kube/admission/webhook-server.ts";
import type { Clock } from "../kube/clock.ts";
import { EventRecorder } from "../kube/events/events.ts";
import { Elector, type ElectorOptions } from "../kube/leader.ts";
import { Manager, type ManagerOptions } from "../kube/process/manager.ts";
import type { Runnable } from "../kube/process/stages.ts";
import { OvnNetwork, type OvnOptions } from "../migration/network.ts";
import { PoolCaches } from "../pools/caches.ts";
import { leadPools, type LeaderOptions } from "../pools/leader.ts";
import { poolMetrics } from "../pools/metrics.ts";
import { sliceMetrics } from "../slices/metrics.ts";
import { leadSlices, type SlicesOptions } from "../slices/term.ts";
import { type AgentInProcess, InProcessAgent } from "../vmnet/agents/in-process.ts";
import { type AgentsOptions, AgentsReconciler } from "../vmnet/agents/reconciler.ts";
import { VmnetLeader } from "../vmnet/leader/leader.ts";
import { VmnetMetrics } from "../vmnet/leader/metrics.ts";
import type { VmnetOptions } from "../vmnet/leader/options.ts";
import { vmnetHandlers } from "../vmnet/webhook/handlers.ts";
import type { VmnetViewOptions } from "../vmnet/webhook/view.ts";

type ReconcilerName = "pools" | "slices" | "claims" | "vmnet";

export interface ControllerOptions
  extends
    Pick<ReconcilerOptions, "client" | "clock" | "log" | "systemNamespace" | "kubeMetrics">,
    Pick<LeaderOptions, "limits" | "allowMassRelease" | "lookBackMs" | "whereaboutsNamespaces">,
    Pick<SlicesOptions, "cutRules">,
    Pick<ClaimsOptions, "trusted" | "gate" | "needsLabel" | "retryMs">,
    Pick<VmnetOptions, "poolParts" | "pace">,
    Pick<VmnetViewOptions, "clusterRanges"> {
  /** Of networks that name none. */
  readonly cooldownMs: number;
  /** In events: which replica says it. */
  readonly instance: string;
  /** When a node counts as off. Default: the rules of src/cluster/fencing.ts, but for these. */
  readonly fencing?: Partial<FenceRules>;
  /** By which nodes are silent and slices go on. Default: `clock`. */
  readonly nodeClock?: Clock;
  /** Default: all. */
  readonly reconcilers?: readonly ReconcilerName[];
  /** Absent: nobody deploys agents of managed DHCP, and the labels of its networks stay as they are. */
  readonly agents?: Pick<AgentsOptions, "image" | "replicas" | "trustedNamespaces">;
  /** In place of `agents`: one that runs in this process. */
  readonly agentInProcess?: AgentInProcess;
  /** Absent: no northbound database is written, and no VM's address moves by us. */
  readonly ovn?: OvnOptions;
  /** Absent: no webhooks are served. */
  readonly webhook?: Pick<WebhookServerOptions, "port" | "host" | "names">;
  /** Absent: nothing is measured. */
  readonly registry?: Registry;
  /** What fails of definitions, events and webhooks, beside the log. */
  readonly onError?: (error: Error) => void;
}

interface RunOptions extends Pick<ManagerOptions, "health"> {
  /** Told the ports, once they are open. */
  readonly onListen?: (what: string, port: number) => void;
  /** Absent: it leads at once. */
  readonly election?: Omit<ElectorOptions, "client" | "namespace" | "name" | "onRestore">;
  /** Run on every replica, beside its own. */
  readonly runnables?: readonly Runnable[];
}

export interface AssembledController {
  readonly caches: PoolCaches;
  readonly definitions: DefinitionInformer;
  /** Where `ovn` is given. */
  readonly ovn?: OvnNetwork;
  /** Until the signal aborts, or something fails. */
  run(signal: AbortSignal, options?: RunOptions): Promise<void>;
}

export function assembleController(options: ControllerOptions): AssembledController {
  const { client, clock, log, systemNamespace, instance, registry, kubeMetrics, nodeClock = clock } = options;
  const { reconcilers = ["pools", "slices", "claims", "vmnet"], cutRules, webhook, clusterRanges } = options;
  const trusted = options.trusted ?? cutRules?.trusted;
  const onError = (error: Error) => {
    log.warn("in the background", { error });
    options.onError?.(error);
  };
  const events = new EventRecorder({ client, component: "holdfast-controller", instance, clock, onError });
  const following = { client, clock, onError };
  const definitions = new DefinitionInformer(following);
  const fencing = { ...defaultRules, ...options.fencing };
  const caches = new PoolCaches({
    ...following,
    systemNamespace,
    fencing,
    silence: nodeClock,
    onError: (error) => log.warn("following the cluster", { error }),
  });
  const { pods, pools, nodes, presence, reservations, holds } = caches;
  const shared = { ...options, events, definitions, pods, pools, nodes, presence, reservations, holds };

  const deployment = reconcilers.includes("vmnet") ? options.agents : undefined;
  const deployer = { client, clock, log, systemNamespace, definitions, nodes, events, leases: caches.leases };
  const { retryMs } = options;
  const agents =
    deployment &&
    new AgentsReconciler({
      ...deployer,
      ...deployment,
      ...(kubeMetrics && { kubeMetrics }),
      ...(retryMs !== undefined && { retryMs }),
      ...(trusted && { trusted }),
    });
  const own =
    options.agentInProcess &&
    new InProcessAgent({
      ...deployer,
      ...options.agentInProcess,
      ...(trusted && { trusted }),
      poolsOf: (network) => vmnet?.followed.poolsOf(network),
    });
  const claims = reconcilers.includes("claims")
    ? new ClaimsLeader({
        ...(cutRules && { trusted: cutRules.trusted }),
        attachesOvn: options.ovn !== undefined,
        ...shared,
        ...(registry && { metrics: claimMetrics(registry) }),
      })
    : undefined;
  const makers = {
    pools: () => {
      const metrics = registry && { metrics: poolMetrics(registry) };
      return { lead: leadPools({ ...shared, caches, ...(trusted && { trusted }), ...metrics }) };
    },
    slices: () => {
      const metrics = registry && { metrics: sliceMetrics(registry) };
      return { lead: leadSlices({ ...shared, clock: nodeClock, ...metrics }) };
    },
    claims: () => claims!,
    vmnet: () =>
      new VmnetLeader({
        ...shared,
        ...(trusted && { trusted }),
        ...(claims && { claims: claims.claims }),
        poolParts: [...(agents ? [agents] : []), ...(own ? [own] : []), ...(options.poolParts ?? [])],
        ...(registry && { metrics: new VmnetMetrics(registry) }),
      }),
  };
  const made = reconcilers.map((name): ControllerPart => makers[name]());
  const ovn = options.ovn && new OvnNetwork({ ...shared, ...options.ovn });
  const leaders: readonly ControllerPart[] = [...made, ...(agents ? [agents] : []), ...(ovn ? [ovn] : [])];
  const vmnet = made.find((each) => each instanceof VmnetLeader);
  const everywhere: Runnable[] = [{ name: "events", run: (signal) => events.run(signal) }];
  const makeWebhook = (given: NonNullable<typeof webhook>, listening: RunOptions["onListen"]) =>
    new WebhookServer({
      ...following,
      ...given,
      namespace: systemNamespace,
      service: webhookServiceName,
      configurations: [claimsWebhooks.configuration, vmnetWebhooks.configuration],
      handlers: (self) => ({
        ...claimsHandlers({ client, systemNamespace, definitions: () => definitions.list() }, self),
        ...vmnetHandlers(
          {
            client,
            systemNamespace,
            ...(trusted && { trusted }),
            ...(clusterRanges && { clusterRanges }),
            ...(vmnet && { followed: vmnet.followed }),
          },
          self,
        ),
      }),
      onListen: (port) => listening?.("webhooks", port),
      ...(registry && { metrics: new ReviewMetrics(registry) }),
    });

  const place = { namespace: systemNamespace, name: controllerLease };
  /** For whoever leads next. */
  const onRestore = async (signal: AbortSignal) => {
    const body = { data: { [restoredKey]: new Date(clock.wallMs()).toISOString() } };
    const at = { namespace: systemNamespace, name: stateName };
    await client.patch(configMaps, at, { type: "merge", body }, { signal });
  };
  return {
    caches,
    definitions,
    ...(ovn && { ovn }),
    run: async (signal, { election, runnables = [], ...more } = {}) => {
      const elector = election && new Elector({ client, ...place, onRestore, onError, ...election });
      const webhooks = webhook === undefined ? [] : [makeWebhook(webhook, more.onListen)];
      const leading = leaders.map(({ lead }) => lead);
      const plain = [...everywhere, ...webhooks, ...runnables];
      const manager = new Manager({
        ...more,
        ...(kubeMetrics && { metrics: kubeMetrics }),
        informers: [...caches.informers, ...leaders.flatMap(({ informers = [] }) => informers)],
        follows: [definitions.follow, ...leaders.flatMap(({ follows = [] }) => follows)],
        runnables: elector === undefined ? [...plain, ...leading] : plain,
        ...(elector && { leader: { elector, runnables: leading } }),
      });
      await manager.run(signal);
    },
  };
}

/** What each of them brings along: what only it follows, and what it does under the lease. */
interface ControllerPart extends Pick<ManagerOptions, "informers" | "follows"> {
  readonly lead: Runnable;
}
