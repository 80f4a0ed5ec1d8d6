// The node daemon, put together from its parts; bin/node.ts gives it the outside world.
//
// It serves DEL from its first moment, the API server up or not: a release that cannot be done is recorded. ADD waits until what
// this node holds is known.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

import { defaultSpool } from "../cni/protocol/limits.ts";
import { untilAborted } from "../kube/abort.ts";
import { EventRecorder } from "../kube/events.ts";
import { Informer } from "../kube/informer.ts";
import { Manager } from "../kube/manager.ts";
import { Recent } from "../kube/recent.ts";
import type { Runnable } from "../kube/stages.ts";
import type { Journal } from "../ledger/journal/journal.ts";
import { ReservationLedger } from "../ledger/reservation-ledger.ts";
import { configMaps, pods } from "../ledger/resources.ts";
import { stateName } from "../ledger/state.ts";
import { Attachments } from "./attachment.ts";
import { isClaimGone, podState, serverFacts } from "./claims/fence-facts.ts";
import { assembleClaims, type ClaimAssembly } from "./claims/parts.ts";
import { Configs } from "./configs.ts";
import type { DaemonOptions } from "./daemon-options.ts";
import { del } from "./delete.ts";
import { FlatFiles } from "./flat-file.ts";
import { makeHandler } from "./handler.ts";
import { Held } from "./held.ts";
import { History, probedKind } from "./history.ts";
import { Intents } from "./intents.ts";
import { namespaceId } from "./kernel/namespace-id.ts";
import { Ledgers } from "./ledgers.ts";
import { Legacy } from "./legacy.ts";
import { OwnHolds } from "./own-holds.ts";
import { Pace } from "./pace.ts";
import type { Parts, Probe } from "./parts.ts";
import { Pictures } from "./pictures.ts";
import { Pods } from "./pods.ts";
import { Quota } from "./quota.ts";
import { notWaitedFor, Readiness } from "./readiness.ts";
import { Reassert } from "./reassert.ts";
import { Releases } from "./release.ts";
import { Replay } from "./replay.ts";
import { type ObjectName, Sandboxes } from "./sandboxes.ts";
import { SocketServer } from "./server.ts";
import { SharedSource } from "./shared-source.ts";
import { SharedState } from "./shared-state.ts";
import { assembleSlices, openJournal, seenVersion, type SliceAssembly } from "./slice-assembly.ts";
import { SlicedSource } from "./sliced-source.ts";
import { sliceHolder } from "./slices/slice-holder.ts";
import { Spool } from "./spool.ts";
import { Upkeep } from "./upkeep.ts";

/** A gone attachment is forgotten when so many newer ones came: a node tears down some sandboxes a second at most. */
const maxGone = 4096;
/** Requests in work are given so long when the daemon is told to stop; the kubelet waits 30 s before it kills. */
const drainMs = 20_000;

export async function runDaemon(options: DaemonOptions, signal: AbortSignal): Promise<void> {
  const intents = await Intents.open(options.state);
  try {
    const journal = await openJournal(options.state, options.clock, options.log);
    try {
      const { state: folder, log, fencing } = options;
      const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
      const sandboxes = await Sandboxes.open({ folder, bootId, identify: fencing?.identify ?? namespaceId, log });
      try {
        await new Assembly(options, intents, journal, sandboxes).run(signal);
      } finally {
        await sandboxes.close();
      }
    } finally {
      await journal.close();
    }
  } finally {
    await intents.close();
  }
}

class Assembly {
  readonly #options: DaemonOptions;
  readonly #intents: Intents;
  readonly #journal: Journal;
  readonly #sandboxes: Sandboxes;
  readonly #held = new Held();
  readonly #attachments = new Attachments();
  /** Aborts when no request is answered any more. */
  readonly #served = new AbortController();

  constructor(options: DaemonOptions, intents: Intents, journal: Journal, sandboxes: Sandboxes) {
    this.#options = options;
    this.#intents = intents;
    this.#journal = journal;
    this.#sandboxes = sandboxes;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, log, metrics, node, systemNamespace } = this.#options;
    if (this.#intents.damaged > 0) {
      log.error("lines of the file of releases are damaged and left out; the leader collects what they were for", {
        lines: this.#intents.damaged,
      });
    }
    const now = () => clock.wallMs();
    const onError = (error: Error) => log.warn("following the API server", { error });
    const { random, restoreSettleMs: settleMs } = this.#options;
    const history = new History({
      clock,
      log,
      seen: this.#sandboxes.seen,
      note: (seen) => this.#sandboxes.note(seen),
      probe: async (within) => {
        const scope = { namespace: systemNamespace, fieldSelector: `metadata.name=${stateName}`, signal: within };
        // While it is paused, holds are moved.
        const lost = state.paused === "" ? own.isLost(within) : false;
        const [{ metadata }, isLost] = await Promise.all([client.list(configMaps, scope), lost]);
        return { version: metadata.resourceVersion, isLost };
      },
      daemons: () => upkeep.daemons,
      settleMs,
      onRestore: () => {
        own.restored();
        pictures.forget();
        for (const informer of [podInformer, stateInformer]) informer.relist();
        slices.keeper.restored();
      },
    });
    const following = (kind: string) => ({
      onError,
      onWatching: (is: "open" | "closed" | "early") => {
        history.watching(kind, is);
        if (is === "early") upkeep.lookSoon();
      },
    });
    const podInformer = new Informer({
      client,
      resource: pods,
      scope: { fieldSelector: `spec.nodeName=${node}` },
      fromCache: true, // as kubelets do: the pods of one node out of all, asked for by every node
      clock,
      ...following(pods.kind),
    });
    const stateInformer = new Informer({
      client,
      resource: configMaps,
      scope: { namespace: systemNamespace, fieldSelector: `metadata.name=${stateName}` },
      clock,
      ...following(probedKind),
      // Events, bookmarks and second lists come from a cache that may be behind the probe's list.
      onVersion: (version) => history.reached(probedKind, version),
    });
    const facts = serverFacts(client);
    const isAlive = ({ namespace, name, uid }: ObjectName) => {
      const pod = podInformer.cache.get(`${namespace}/${name}`);
      return pod !== undefined && podState(pod, uid) === "alive";
    };
    const reassert = new Reassert({
      client,
      node,
      facts,
      isClaimGone: (claim, within) => isClaimGone(client, claim, within),
      ledgers: { shared: (namespace) => ledgers.shared(namespace) },
      held: this.#held,
      sandboxes: this.#sandboxes,
      intents: this.#intents,
      pictures: () => pictures,
      inSlice: (place, within) => sliceHolder(client, state.sliced.ranges, place, within),
      cooldownMs: this.#options.cooldownMs,
      vouchMs: () => 3 * upkeep.longestLookMs,
      now,
      tell: (...event) => events.record(...event),
      onMade: metrics.reasserted,
      log,
    });
    const own = new OwnHolds({
      client,
      node,
      held: this.#held,
      facts,
      sandboxes: this.#sandboxes,
      reassert,
      history,
      clock,
      random,
      log,
    });
    const state = new SharedState({
      informer: stateInformer,
      systemNamespace,
      log,
      seen: seenVersion(this.#options.state, log),
      onChange: () => {
        // While it lasts nothing is given and nothing freed; what was moved meanwhile is read when it is over.
        if (state.paused !== "") return;
        own.forget();
        pictures.forget();
        replay.wake();
      },
    });
    const upkeep = new Upkeep({
      client,
      clock,
      random,
      log,
      state,
      own,
      history,
      conflicts: () => reassert.conflicts,
      pictures: () => pictures,
    });
    const pictures = new Pictures({
      client,
      pace: new Pace(clock, random),
      held: this.#held,
      log,
      now,
      coexistence: () => state.coexistence,
      daemons: () => upkeep.daemons,
    });
    const presence = () => slices.keeper;
    const readiness = new Readiness({ client, own, state, history, clock, systemNamespace, presence });
    const events = new EventRecorder({ client, component: "holdfast-node", instance: node, clock, onError });
    const ledgers = this.#ledgers(state);
    const slices = assembleSlices({
      ...this.#options,
      ...(this.#options.sliceAuthorityMs !== undefined && { authorityMs: this.#options.sliceAuthorityMs }),
      journal: this.#journal,
      held: this.#held,
      sandboxes: this.#sandboxes,
      attachments: this.#attachments,
      shared: state,
      pods: podInformer,
      events,
      ledgerOf: (namespace, domain) => ledgers.of(namespace, domain),
      onOrphan: () => this.#options.sliceMetrics?.orphan(),
      daemons: () => upkeep.daemons,
      assure: (within) => history.assure(within),
    });
    stateInformer.handle(() => slices.keeper.look());
    this.#options.sliceMetrics?.watch(slices.keeper);
    const wake = () => replay.wake();
    const { claimWaitMs: waitMs } = this.#options;
    const { fencing } = this.#options;
    const fence = fencing && {
      shut: fencing.shut,
      sandboxes: this.#sandboxes,
      isAlive,
      tell: events.record.bind(events),
      onFence: metrics.fenced,
    };
    const claims = assembleClaims({ client, clock, log, node, state, ledgers, pictures, waitMs, fence });
    const spool = this.#spool(() => parts);
    const parts = this.#parts({
      history,
      pictures,
      readiness,
      events,
      podInformer,
      state,
      ledgers,
      slices,
      claims,
      spool,
      reassert,
      wake,
    });
    const replay = new Replay(parts, clock);
    const server = this.#server(parts);
    metrics.watch({
      pictures,
      pendingReleases: () => this.#intents.size,
      held: () => this.#held.size + slices.keeper.figures.holds,
      inWork: () => server.inWork,
      reassert,
    });
    await new Manager({
      clock,
      ...(this.#options.health !== undefined && { health: this.#options.health }),
      ...(this.#options.kubeMetrics !== undefined && { metrics: this.#options.kubeMetrics }),
      readyz: { holds: (within) => readiness.assertKnown(within) },
      runnables: [
        this.#serving(server, spool),
        { name: "pods", run: (stop) => podInformer.run(stop) },
        { name: "state", run: (stop) => stateInformer.run(stop) },
        { name: "events", run: (stop) => events.run(stop) },
        { name: "releases", run: (stop) => replay.run(stop) },
        { name: "spool", run: (stop) => spool.run(stop) },
        { name: "upkeep", run: (stop) => upkeep.run(stop) },
        ...(claims.fence === undefined ? [] : [{ name: "fence", run: claims.fence.run.bind(claims.fence) }]),
        // Until the last request is answered: it may have a status to write.
        { name: "claim statuses", run: () => claims.statuses.run(this.#served.signal) },
        { name: "slices", run: (stop) => slices.keeper.run(stop) },
      ],
    }).run(signal);
    await history.keep();
  }

  #parts(given: {
    readonly pictures: Pictures;
    readonly readiness: Readiness;
    readonly history: History;
    readonly events: EventRecorder;
    readonly podInformer: Informer<(typeof pods)["example"] & {}>;
    readonly state: SharedState;
    readonly ledgers: Ledgers;
    readonly slices: SliceAssembly;
    readonly claims: ClaimAssembly;
    readonly spool: Spool;
    readonly reassert: Reassert;
    readonly wake: () => void;
  }): Parts {
    const { client, node, clock, random, log, metrics, cooldownMs, isolation } = this.#options;
    const { pictures, readiness, events, podInformer, state, ledgers, slices } = given;
    const now = () => clock.wallMs();
    const held = this.#held;
    const { sliced } = slices;
    const shared = {
      ledgers,
      pictures,
      held,
      now,
      onConflict: metrics.conflict,
      history: given.history,
      // Also for who was on the way.
      paused: () => state.paused || (slices.keeper.isWaitedFor ? "" : notWaitedFor),
    };
    const legacy = new Legacy({ client, ledgers, pictures, coexistence: () => state.coexistence });
    return {
      nodeName: node,
      get poolNamespace() {
        return state.poolNamespace;
      },
      cooldownMs,
      isolation,
      configs: new Configs(new FlatFiles({ ...this.#options, now: () => clock.monotonicMs() }), log),
      pods: new Pods(client, pods, podInformer.cache),
      held,
      sliced,
      holdAt: (place, signal) => serverFacts(client).hold(place, signal),
      attachments: this.#attachments,
      intents: this.#intents,
      sandboxes: this.#sandboxes,
      spool: given.spool,
      gone: new Recent(maxGone),
      sources: {
        random,
        sourceOf: (order) =>
          order.share.slice === undefined
            ? new SharedSource(shared, order)
            : new SlicedSource({ ...slices.source, clock, held, ledgers }, order, order.share.slice),
      },
      claims: given.claims.parts,
      releases: new Releases({ ledgers, held, pictures, legacy, sliced }),
      quota: new Quota({ client, log, now }),
      probe: this.#probe,
      tell: (pod, type, reason, message) => events.record(pod, type, reason, message),
      log,
      now,
      assertSettled: () => given.history.assertSettled(),
      assertReady: (signal) => readiness.assertReady(signal),
      assertKnown: (signal) => readiness.assertKnown(signal),
      obstacles: (signal) => readiness.obstacles(signal),
      mayRelease: () => readiness.mayRelease,
      conflicts: () => given.reassert.conflicts,
      wake: given.wake,
    };
  }

  #ledgers(state: SharedState): Ledgers {
    const { client, node, clock, random } = this.#options;
    const now = () => clock.wallMs();
    const coexistence = () => state.coexistence;
    return new Ledgers(
      (namespace) => new ReservationLedger({ client, namespace, node, now, clock, random, coexistence }),
      this.#journal,
    );
  }

  /** The probe it was given, counted. */
  readonly #probe: Probe = async (request) => {
    const { probe, metrics } = this.#options;
    try {
      const answer = await probe(request);
      metrics.probe(answer.duplicate ? "duplicate" : "free");
      return answer;
    } catch (error) {
      metrics.probe("failed");
      throw error;
    }
  };

  #spool(parts: () => Parts): Spool {
    const { state, ownUid, clock, log, metrics } = this.#options;
    return new Spool({
      folder: join(state, basename(defaultSpool)),
      ownUid,
      clock,
      log,
      release: (invocation, config) =>
        del(parts(), invocation, Buffer.from(config).toString(), this.#served.signal, true),
      onTaken: metrics.taken,
    });
  }

  #server(parts: Parts): SocketServer {
    const { socket: path, peerUid, ownUid, clock, log, metrics } = this.#options;
    const handle = makeHandler({ parts, monotonic: () => clock.monotonicMs(), observe: metrics.request });
    return new SocketServer({ path, handle, peerUid, ownUid, clock, log });
  }

  #serving(server: SocketServer, spool: Spool): Runnable {
    return {
      name: "socket",
      startsSlowly: true,
      run: async (signal, ready) => {
        try {
          await spool.open();
          await server.listen();
          this.#options.onListen?.();
          ready();
          await untilAborted(signal);
          await server.close(AbortSignal.timeout(drainMs));
        } finally {
          this.#served.abort();
        }
      },
    };
  }
}
