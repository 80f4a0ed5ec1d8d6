// The controller and this machine's daemon, in one process on one client: what `holdfast up` runs beside its API.
import { hostname } from "node:os";

import { Registry } from "prom-client";

import { ClaimsLeader } from "../src/claims/leader/leader.ts";
import { FollowedDefinitions } from "../src/cluster/definition-informer.ts";
import { flatFileFolders } from "../src/cni/config/merge.ts";
import { realClock } from "../src/kube/clock.ts";
import { EventRecorder } from "../src/kube/events/events.ts";
import { Elector } from "../src/kube/leader.ts";
import { Manager } from "../src/kube/process/manager.ts";
import { nodeNameOf, OwnNode } from "../src/kube/process/own-node.ts";
import type { KubeClient } from "../src/kube/rest.ts";
import { type HeldObject, readHeld } from "../src/ledger/reservation/list-holds.ts";
import { makeLog } from "../src/log/log.ts";
import { runDaemon } from "../src/node/daemon.ts";
import { namespaceId } from "../src/node/kernel/namespace-id.ts";
import { peerCredentials } from "../src/node/kernel/peer-credentials.ts";
import { probeDuplicate } from "../src/node/kernel/probe.ts";
import { shutLinks } from "../src/node/kernel/shut.ts";
import { NodeMetrics } from "../src/node/metrics.ts";
import { realDisk } from "../src/node/request/flat-file.ts";
import { PoolsLeader } from "../src/pools/leader.ts";
import { SlicesLeader } from "../src/slices/leader.ts";
import { leaseName } from "./controller.ts";

export interface LocalOptions {
  readonly client: KubeClient;
  readonly systemNamespace: string;
  readonly socket: string;
  /** Folder of what must survive a restart. */
  readonly state: string;
  readonly cooldownMs: number;
  readonly onListen: () => void;
}

/** It writes to its own process: only one that stood still for longer lost its lease, and should begin anew. */
const leaseMs = { leaseDurationMs: 60_000, renewDeadlineMs: 45_000 };

/** Runs until the signal; ends with the first error of either. */
export async function runLocal(options: LocalOptions, signal: AbortSignal): Promise<void> {
  const { client, systemNamespace, cooldownMs } = options;
  const clock = realClock;
  const node = nodeNameOf(hostname());
  const write = (line: string) => void process.stderr.write(`${line}\n`);
  const log = makeLog({ write, level: "warn", format: "text", now: Date.now });
  const onError = (error: Error) => log.warn("in the background", { error });
  const events = new EventRecorder({ client, component: "holdfast-controller", instance: hostname(), onError });
  const definitions = new FollowedDefinitions({ client, clock, onError });
  const pools = new PoolsLeader({ definitions, client, clock, log, systemNamespace, cooldownMs, events });
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
    events,
  });
  const claims = new ClaimsLeader({
    client,
    clock,
    log,
    systemNamespace,
    cooldownMs,
    definitions,
    pods: pools.world.pods,
    pools: pools.world.pools,
    nodes,
    presence,
    reservations,
    holds,
    events,
  });
  // Under the lease of controllers: a second one stands by, and commands that must not run beside one see it. The folder is locked, so this
  // name is one process, and the next one after a crash need not wait for it.
  const identity = `holdfast up on ${node}`;
  const elector = new Elector({ client, namespace: systemNamespace, name: leaseName, identity, onError, ...leaseMs });
  const isOver = (uid: string) =>
    ![...reservations.cache.list(), ...holds.cache.list()].some((object) => isOf(object as HeldObject, uid));
  const ownNode = new OwnNode({ client, clock, name: node, keeper: "`holdfast up`", isOver, onError });
  const telling = { name: "events", run: (stop: AbortSignal) => events.run(stop) };
  const manager = new Manager({
    informers: [...pools.world.informers, ...claims.informers],
    follows: [pools.followDefinitions, ...claims.follows],
    runnables: [telling, ownNode.keep],
    leader: { elector, runnables: [pools.lead, slices.lead, claims.lead] },
  });
  await ownNode.register(signal);
  const ended = new AbortController();
  const until = AbortSignal.any([signal, ended.signal]);
  const daemon = runDaemon(
    {
      ...options,
      node,
      isolation: { isolated: false, globalNamespaces: [] },
      metrics: new NodeMetrics(new Registry()),
      clock,
      random: Math.random,
      disk: realDisk,
      folders: flatFileFolders,
      probe: probeDuplicate,
      fencing: { identify: namespaceId, shut: shutLinks },
      peerUid: (socket) => peerCredentials(socket).uid,
      ownUid: process.getuid?.() ?? 0,
      log,
    },
    until,
  );
  const stopOthers = (error: unknown) => {
    ended.abort();
    throw error;
  };
  await Promise.all([manager.run(until).catch(stopOthers), daemon.catch(stopOthers)]);
}

function isOf(object: HeldObject, uid: string): boolean {
  return readHeld(object).some(
    (each) => each.unreadable === undefined && each.cooling === undefined && each.hold.owner.uid === uid,
  );
}
