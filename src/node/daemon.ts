// The node daemon, put together from its parts; bin/node.ts gives it the outside world. It serves DEL from its first moment:
// a release that cannot be done is recorded. ADD waits until what this node holds is known.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { configMaps, pods } from "../cluster/resources.ts";
import { stateName } from "../cluster/state.ts";
import { defaultSpool } from "../cni/protocol/limits.ts";
import { untilAborted } from "../kube/abort.ts";
import { Informer } from "../kube/cache/informer.ts";
import { Recent } from "../kube/cache/recent.ts";
import { deadline } from "../kube/clock.ts";
import { EventRecorder } from "../kube/events/events.ts";
import { Manager } from "../kube/process/manager.ts";
import { Journal } from "../ledger/journal/journal.ts";
import { ReservationLedger } from "../ledger/reservation/reservation-ledger.ts";
import { Quota } from "./add/quota.ts";
import { SharedSource } from "./add/shared-source.ts";
import { SlicedSource } from "./add/sliced-source.ts";
import { assembleClaims } from "./claims/context.ts";
import { isClaimGone, podState, serverFacts } from "./claims/fence/fence-facts.ts";
import { Fence } from "./claims/fence/fence.ts";
import type { DaemonContext, Probe } from "./context.ts";
import type { DaemonOptions } from "./daemon-options.ts";
import { HoldIndex } from "./holds/hold-index.ts";
import { HoldLoader } from "./holds/hold-loader.ts";
import { Reassert } from "./holds/reassert.ts";
import { type ObjectName, Sandboxes } from "./holds/sandboxes.ts";
import { History, probedKind } from "./holds/server-history.ts";
import { namespaceId } from "./kernel/namespace.ts";
import { Maintenance } from "./maintenance.ts";
import { Ledgers } from "./pools/ledgers.ts";
import { PoolResolver } from "./pools/pool-resolver.ts";
import { notWaitedFor, Readiness } from "./readiness.ts";
import { del } from "./release/delete.ts";
import { Intents } from "./release/intents.ts";
import { Releases } from "./release/release.ts";
import { Replay } from "./release/replay.ts";
import { Spool } from "./release/spool.ts";
import { findLegacy } from "./release/whereabouts-holds.ts";
import { Attachments } from "./request/attachment.ts";
import { configsOf } from "./request/configurations.ts";
import { flatFiles } from "./request/flat-file.ts";
import { makeHandler } from "./request/handler.ts";
import { podsOf } from "./request/pods.ts";
import { SocketServer } from "./request/server.ts";
import { RetryPause } from "./retry-pause.ts";
import { SharedState } from "./shared-state.ts";
import { sliceHolder } from "./slices/grant/lost-slice.ts";
import { seenVersionIn } from "./slices/seen-version.ts";
import { assembleSlices, sliceFolder } from "./slices/slice-assembly.ts";

/** A gone attachment is forgotten when so many newer ones came: a node tears down some sandboxes a second at most. */
const maxGone = 4096;
/** Requests in work are given so long when the daemon is told to stop; the kubelet waits 30 s before it kills. */
const drainMs = 20_000;

export async function runDaemon(options: DaemonOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, log, metrics, node, random, systemNamespace, fencing, health, kubeMetrics } = options;
  const { state: folder } = options;
  const now = () => clock.wallMs();
  await using open = new AsyncDisposableStack();
  const intents = open.adopt(await Intents.open(folder), (file) => file.close());
  const journal = open.adopt(await Journal.open({ folder: sliceFolder(folder), now, log }), (file) => file.close());
  const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const opened = await Sandboxes.open({ folder, bootId, identify: fencing?.identify ?? namespaceId, log });
  const sandboxes = open.adopt(opened, (file) => file.close());
  const damaged = "lines of the file of releases are damaged and left out; the leader collects what they were for";
  if (intents.damaged > 0) log.error(damaged, { lines: intents.damaged });

  /** Aborts when no request is answered any more. */
  const served = new AbortController();
  const held = new HoldIndex();
  const attachments = new Attachments();
  const facts = serverFacts(client);
  const daemons = () => maintenance.daemons;
  const coexistence = () => state.coexistence;
  const onError = (error: Error) => log.warn("following the API server", { error });
  const stateScope = { namespace: systemNamespace, fieldSelector: `metadata.name=${stateName}` };

  const history = new History({
    clock,
    log,
    seen: sandboxes.seen,
    note: (seen) => sandboxes.note(seen),
    probe: async (within) => {
      // While it is paused, holds are moved.
      const lost = state.paused === "" ? own.isLost(within) : false;
      const list = client.list(configMaps, { ...stateScope, signal: within });
      const [{ metadata }, isLost] = await Promise.all([list, lost]);
      return { version: metadata.resourceVersion, isLost };
    },
    daemons,
    settleMs: options.restoreSettleMs,
    onRestore: () => {
      own.restored();
      poolResolver.forget();
      for (const informer of [podInformer, stateInformer]) informer.relist();
      slices.agent.restored();
    },
  });
  const following = (kind: string) => ({
    client,
    clock,
    onError,
    onWatching: (is: "open" | "closed" | "early") => {
      history.watching(kind, is);
      if (is === "early") maintenance.lookSoon();
    },
  });
  const podScope = { fieldSelector: `spec.nodeName=${node}` };
  // From the cache, as kubelets do: the pods of one node out of all, asked for by every node.
  const podInformer = new Informer({ resource: pods, scope: podScope, fromCache: true, ...following(pods.kind) });
  const stateInformer = new Informer({
    resource: configMaps,
    scope: stateScope,
    ...following(probedKind),
    // Events, bookmarks and second lists come from a cache that may be behind the probe's list.
    onVersion: (version) => history.reached(probedKind, version),
  });
  const events = new EventRecorder({ client, component: "holdfast-node", instance: node, clock, onError });
  const tell = events.record.bind(events);
  const state = new SharedState({
    informer: stateInformer,
    systemNamespace,
    log,
    seen: seenVersionIn(sliceFolder(folder), log),
    onChange: () => {
      // While it lasts nothing is given and nothing freed; what was moved meanwhile is read when it is over.
      if (state.paused !== "") return;
      own.forget();
      poolResolver.forget();
      replay.wake();
    },
  });

  const makeLedger = (namespace: string) =>
    new ReservationLedger({ client, namespace, node, now, clock, random, coexistence });
  const ledgers = new Ledgers(makeLedger, journal);
  const pace = new RetryPause(clock, random);
  const poolResolver = new PoolResolver({ node, client, clock, pace, held, log, coexistence, daemons });
  const reassert = new Reassert({
    client,
    node,
    facts,
    isClaimGone: (claim, within) => isClaimGone(client, claim, within),
    ledgers,
    held,
    sandboxes,
    intents,
    poolResolver,
    inSlice: (place, within) => sliceHolder(client, state.sliced.ranges, place, within),
    cooldownMs: options.cooldownMs,
    vouchMs: () => 3 * maintenance.longestLookMs,
    now,
    tell,
    onMade: metrics.reasserted,
    log,
  });
  const own = new HoldLoader({ client, node, held, facts, sandboxes, reassert, history, clock, random, log });
  const maintenance = new Maintenance({ client, clock, random, log, state, own, history, reassert, poolResolver });
  const slices = assembleSlices({
    ...options,
    journal,
    held,
    sandboxes,
    attachments,
    shared: state,
    pods: podInformer,
    tell,
    ledgers,
    daemons,
    assure: (within) => history.assure(within),
    onRestore: () => history.wentBack(),
  });
  stateInformer.handle(() => slices.agent.look());
  const readiness = new Readiness({ client, own, state, history, clock, systemNamespace, presence: slices.agent });
  const isAlive = ({ namespace, name, uid }: ObjectName) => {
    const pod = podInformer.cache.get(`${namespace}/${name}`);
    return pod !== undefined && podState(pod, uid) === "alive";
  };
  const { fenced: onFence } = metrics;
  const fence = fencing && new Fence({ shut: fencing.shut, sandboxes, facts, isAlive, tell, onFence, clock, log });
  const waitMs = options.claimWaitMs;
  const claims = assembleClaims({ client, clock, log, node, state, ledgers, poolResolver, waitMs });
  const spool = new Spool({
    folder: join(folder, basename(defaultSpool)),
    ownUid: options.ownUid,
    clock,
    log,
    release: (invocation, config) => del(parts, invocation, Buffer.from(config).toString(), served.signal, true),
    onTaken: metrics.taken,
  });

  const shared = {
    ledgers,
    poolResolver,
    held,
    now,
    onConflict: metrics.conflict,
    history,
    // Also for who was on the way.
    paused: () => state.paused || (slices.agent.isWaitedFor ? "" : notWaitedFor),
  };
  const { sliced, source } = slices;
  const legacy = { client, ledgers, poolResolver, coexistence, poolNamespace: () => state.poolNamespace };
  const parts: DaemonContext = {
    ...options,
    nodeName: node,
    get poolNamespace() {
      return state.poolNamespace;
    },
    configs: configsOf(flatFiles({ ...options, now: () => clock.monotonicMs() }), log),
    pods: podsOf(client, podInformer.cache),
    held,
    sliced,
    holdAt: (place, within) => facts.hold(place, within),
    attachments,
    intents,
    sandboxes,
    spool,
    gone: new Recent(maxGone),
    sources: {
      random,
      sourceOf: (order) =>
        order.share.slice === undefined
          ? new SharedSource(shared, order)
          : new SlicedSource(source, order, order.share.slice),
    },
    claims,
    releases: new Releases({
      ledgers,
      held,
      poolResolver,
      findLegacy: (intent, within) => findLegacy(legacy, intent, within),
      sliced,
      slicedPools: source.pools,
    }),
    quota: new Quota({ client, log, now }),
    probe: counted(options),
    tell,
    assertSettled: () => history.assertSettled(),
    assertReady: (within) => readiness.assertReady(within),
    assertKnown: (within) => readiness.assertKnown(within),
    obstacles: (within) => readiness.obstacles(within),
    mayRelease: () => readiness.mayRelease,
    conflicts: () => reassert.conflicts,
    wake: () => replay.wake(),
  };
  const replay = new Replay(parts);
  const handle = makeHandler(parts, metrics.request);
  const server = new SocketServer({ ...options, path: options.socket, handle });
  metrics.watch({
    poolResolver,
    pendingReleases: () => intents.size,
    held: () => held.size,
    inWork: () => server.inWork,
    reassert,
    agent: slices.agent,
  });
  const serve = async (stop: AbortSignal, ready: () => void) => {
    try {
      await spool.open();
      await server.listen();
      options.onListen?.();
      ready();
      await untilAborted(stop);
      using limit = deadline(clock, drainMs);
      await server.close(limit.signal);
    } finally {
      served.abort();
    }
  };
  await new Manager({
    clock,
    ...(health !== undefined && { health }),
    ...(kubeMetrics !== undefined && { metrics: kubeMetrics }),
    readyz: { holds: (within) => readiness.assertKnown(within) },
    runnables: [
      { name: "socket", startsSlowly: true, run: serve },
      { name: "pods", run: (stop) => podInformer.run(stop) },
      { name: "state", run: (stop) => stateInformer.run(stop) },
      { name: "events", run: (stop) => events.run(stop) },
      { name: "releases", run: (stop) => replay.run(stop) },
      { name: "spool", run: (stop) => spool.run(stop) },
      { name: "upkeep", run: (stop) => maintenance.run(stop) },
      ...(fence === undefined ? [] : [{ name: "fence", run: fence.run.bind(fence) }]),
      // Until the last request is answered: it may have a status to write.
      { name: "claim statuses", run: () => claims.statuses.run(served.signal) },
      { name: "slices", run: (stop) => slices.agent.run(stop) },
    ],
  }).run(signal);
  await history.keep();
}

function counted({ probe, metrics }: DaemonOptions): Probe {
  return async (request) => {
    try {
      const answer = await probe(request);
      metrics.probe(answer.duplicate ? "duplicate" : "free");
      return answer;
    } catch (error) {
      metrics.probe("failed");
      throw error;
    }
  };
}
