// The node daemon, put together from its parts; bin/node.ts gives it the outside world. It serves DEL from its first
// moment: a release that cannot be done is recorded. ADD waits until this node's holds are known.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { apiVersionOf } from "../api/kind.ts";
import { ipPoolKind } from "../api/pools/ip-pool.ts";
import { configMaps, pods } from "../cluster/resources.ts";
import { stateName } from "../cluster/state.ts";
import { trustedNamespaces } from "../cluster/trusted-namespaces.ts";
import { defaultSpool } from "../cni/protocol/limits.ts";
import { Turns } from "../ipam/turns.ts";
import { untilAborted } from "../kube/abort.ts";
import { Informer } from "../kube/cache/informer.ts";
import { Recent } from "../kube/cache/recent.ts";
import { deadline } from "../kube/clock.ts";
import { EventRecorder } from "../kube/events/events.ts";
import { Manager } from "../kube/process/manager.ts";
import { Journal } from "../ledger/journal/journal.ts";
import { ReservationLedger } from "../ledger/reservation/reservation-ledger.ts";
import { Quota } from "./add/quota.ts";
import { slicedAs } from "./add/range-source.ts";
import { SharedSource } from "./add/shared-source.ts";
import { SlicedSource } from "./add/sliced-source.ts";
import { isClaimGone, podState, serverFacts } from "./claims/fence/fence-facts.ts";
import { Fence } from "./claims/fence/fence.ts";
import { ClaimHolds } from "./claims/hold/claim-holds.ts";
import { StatusWriter } from "./claims/hold/status-writer.ts";
import { userReader } from "./claims/hold/users.ts";
import { claimSearch } from "./claims/resolve/find-claim.ts";
import type { DaemonContext, DaemonOptions, Probe } from "./context.ts";
import { HoldIndex } from "./holds/hold-index.ts";
import { HoldLoader } from "./holds/hold-loader.ts";
import { Reassert } from "./holds/reassert.ts";
import { type ObjectName, rememberMoved, Sandboxes } from "./holds/sandboxes.ts";
import { History, probedKind } from "./holds/server-history.ts";
import { namespaceId } from "./kernel/namespace.ts";
import { Maintenance } from "./maintenance.ts";
import { openOvn } from "./ovn/open.ts";
import { Ledgers } from "./pools/ledgers.ts";
import { PoolResolver } from "./pools/pool-resolver.ts";
import { SlicedPools } from "./pools/sliced-pools.ts";
import { notWaitedFor, Readiness } from "./readiness.ts";
import { del } from "./release/delete.ts";
import { Intents } from "./release/intents.ts";
import { releasesOf } from "./release/release.ts";
import { Replay } from "./release/replay.ts";
import { Spool } from "./release/spool.ts";
import { findLegacy } from "./release/whereabouts-holds.ts";
import { Attachments } from "./request/attachment.ts";
import { configLoader } from "./request/configurations.ts";
import { flatFiles } from "./request/flat-file.ts";
import { makeHandler } from "./request/handler.ts";
import { podFinder } from "./request/pods.ts";
import { SocketServer } from "./request/server.ts";
import { RetryPause } from "./retry-pause.ts";
import { SharedState } from "./shared-state.ts";
import { SliceAgent } from "./slices/agent.ts";
import { fileMemory, kernelMoment, sliceFolder } from "./slices/authority.ts";
import { sliceHolder } from "./slices/grant/lost-slice.ts";
import { seenVersionIn } from "./slices/seen-version.ts";
import { SliceFacade } from "./slices/slice-facade.ts";

/** A gone attachment is forgotten after so many newer ones: a node tears down some sandboxes a second at most. */
const maxGone = 4096;
/** Time for requests in work when the daemon is told to stop; the kubelet waits 30 s before it kills. */
const drainMs = 20_000;

export async function runDaemon(options: DaemonOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, log, metrics, node, random, fencing, health, kubeMetrics, state: folder } = options;
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
  const stateScope = { namespace: options.systemNamespace, fieldSelector: `metadata.name=${stateName}` };
  const events = new EventRecorder({ client, component: "holdfast-node", instance: node, clock, onError });
  const tell = events.record.bind(events);
  /** What most parts need. */
  const common = { ...options, now, journal, intents, sandboxes, held, attachments, facts, daemons, coexistence, tell };

  const history = new History({
    ...common,
    seen: sandboxes.seen,
    note: (seen) => sandboxes.note(seen),
    probe: async (within) => {
      // While it is paused, holds are moved.
      const lost = state.paused === "" ? own.isLost(within) : false;
      const list = client.list(configMaps, { ...stateScope, signal: within });
      const [{ metadata }, isLost] = await Promise.all([list, lost]);
      return { version: metadata.resourceVersion, isLost };
    },
    settleMs: options.restoreSettleMs,
    onRestore: () => {
      own.restored();
      maintenance.listNow();
      poolResolver.forget();
      for (const informer of [podInformer, stateInformer]) informer.relist();
      agent.restored();
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
  const state = new SharedState({
    ...common,
    informer: stateInformer,
    seen: seenVersionIn(sliceFolder(folder), log),
    onChange: () => {
      // A pause gives nothing and frees nothing; holds that were moved meanwhile are read when it is over.
      if (state.paused !== "") return;
      own.forget();
      maintenance.listSoon();
      poolResolver.forget();
      replay.wake();
    },
  });

  const isGone = isClaimGone.bind(undefined, client);
  const ledgers = new Ledgers((namespace) => new ReservationLedger({ ...common, namespace }), journal);
  const poolResolver = new PoolResolver({ ...common, pace: new RetryPause(clock, random) });
  stateInformer.handle(() => poolResolver.told(state.sliced));
  const reassert = new Reassert({
    ...common,
    ledgers,
    poolResolver,
    isClaimGone: isGone,
    inSlice: (place, within) => sliceHolder(client, state.sliced.ranges, place, within),
    vouchMs: () => 3 * maintenance.longestLookMs,
    onMade: metrics.reasserted,
  });
  const own = new HoldLoader({ ...common, reassert, history });
  const maintenance = new Maintenance({ ...common, state, own, history, reassert, poolResolver });
  const slicedPools = new SlicedPools(journal, now);
  const obstacle = () => state.sliceObstacle || agent.mayHandOut();
  const sliced = new SliceFacade({ journal, read: () => state.sliced, clock, obstacle });
  const { sliceAuthorityMs: authorityMs } = options;
  const agent = new SliceAgent({
    ...common,
    ...(authorityMs !== undefined && { authorityMs }),
    pods: podInformer,
    assure: (within) => history.assure(within),
    onRestore: () => history.wentBack(),
    seenVersion: () => sliced.seen(),
    toldVersion: () => state.sliced.version,
    restoreNote: () => state.restoreNote,
    ledgerOf: (namespace) => ledgers.shared(namespace),
    onMoved: (namespace, hold) => {
      const entry = { namespace, hold };
      held.put(entry);
      void rememberMoved(common, entry);
    },
    onOrphan: (hold) => {
      slicedPools.released(hold, options.cooldownMs);
      metrics.orphan();
    },
    moment: kernelMoment((path) => readFileSync(path, "utf8"), now),
    memory: fileMemory(sliceFolder(folder)),
    tell: (metadata, ...event) =>
      tell({ apiVersion: apiVersionOf(ipPoolKind), kind: ipPoolKind.kind, metadata }, ...event),
    refusalOf: (use) => state.refusalOf(use),
    poolOf: ({ range, ...use }) => slicedAs(range, { ...use, sliced: state.sliced })?.pool,
  });
  stateInformer.handle(() => agent.look());
  const readiness = new Readiness({ ...common, own, state, history, presence: agent });
  const isAlive = ({ namespace, name, uid }: ObjectName) => {
    const pod = podInformer.cache.get(`${namespace}/${name}`);
    return pod !== undefined && podState(pod, uid) === "alive";
  };
  const fence = fencing && new Fence({ ...common, shut: fencing.shut, isAlive, onFence: metrics.fenced });
  const claims = {
    find: claimSearch({ ...common, state: () => state.claims, waitMs: options.claimWaitMs }),
    holds: new ClaimHolds({ ...common, ledgers, poolResolver, paused: () => state.paused, isGone }),
    usersIn: userReader(client),
    statuses: new StatusWriter(common),
    turns: new Turns(),
    obstacle: () => state.claimObstacle,
  };
  const spool = new Spool({
    ...common,
    folder: join(folder, basename(defaultSpool)),
    release: (invocation, config) =>
      del(parts, { invocation, text: Buffer.from(config).toString(), signal: served.signal }, true),
    onTaken: metrics.taken,
  });

  const shared = {
    ...common,
    ledgers,
    poolResolver,
    history,
    onConflict: metrics.conflict,
  };
  /** Also for requests under way, which go by what was shared before a sleep. */
  const pausedSince = ({ returns } = agent) => {
    return () => state.paused || (agent.isWaitedFor && agent.returns === returns ? "" : notWaitedFor);
  };
  const source = { ...common, ledgers, agent, pools: slicedPools, obstacle, isStarting: () => !agent.isKnown() };
  const legacy = { ...common, ledgers, poolResolver, poolNamespace: () => state.poolNamespace };
  const findPod = podFinder(client, podInformer.cache);
  const trusted = trustedNamespaces(options.systemNamespace, options.trustedNamespaces);
  const ovn = await openOvn(options.ovnPlace, {
    ...common,
    trusted,
    findPod,
    pods: podInformer,
    identify: fencing?.identify ?? namespaceId,
    onFreed: (hold) => slicedPools.released(hold, options.cooldownMs),
    release: (request) => del(parts, request, true),
  });
  if (ovn !== undefined) open.use(ovn);
  const parts: DaemonContext = {
    ...common,
    ...(ovn && { ovn: ovn.networks }),
    nodeName: node,
    trusted,
    get poolNamespace() {
      return state.poolNamespace;
    },
    loadConfig: configLoader(flatFiles({ ...options, now: () => clock.monotonicMs() }), log),
    findPod,
    sliced,
    spool,
    gone: new Recent(maxGone),
    sources: {
      random,
      sourceOf: (order) =>
        order.share.slice === undefined
          ? new SharedSource({ ...shared, paused: pausedSince() }, order)
          : new SlicedSource(source, order),
    },
    claims,
    releases: releasesOf({
      ...common,
      ledgers,
      poolResolver,
      findLegacy: (intent, within) => findLegacy(legacy, intent, within),
      sliced,
      slicedPools,
    }),
    quota: new Quota(common),
    probe: counted(options),
    history,
    readiness,
    reassert,
    wake: () => replay.wake(),
  };
  const replay = new Replay(parts);
  const handle = makeHandler(parts, metrics.request);
  const server = new SocketServer({ ...options, path: options.socket, handle });
  metrics.watch({ intents, held, server, reassert, poolResolver, agent });
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
    readyz: { holds: (within) => readiness.assertServing(within) },
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
      { name: "slices", run: (stop) => agent.run(stop) },
      ...(options.runnables ?? []),
      // The same: what a DEL takes away is in both databases.
      ...(ovn === undefined ? [] : [{ name: "ovn", run: () => ovn.run(served.signal) }]),
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
