// The controller, this machine's daemon and its DHCP agent, in one process on one client: what `holdfast up` runs
// beside its API.
import { hostname } from "node:os";

import { Registry } from "prom-client";

import { type AgentOptions, runAgent } from "../src/agent/agent.ts";
import type { Target } from "../src/agent/target.ts";
import { assembleController } from "../src/controller/controller.ts";
import { openWire } from "../src/dhcp/socket/open.ts";
import { realClock } from "../src/kube/clock.ts";
import type { ObjectKey } from "../src/kube/meta.ts";
import { KubeMetrics } from "../src/kube/process/metrics.ts";
import { nodeNameOf, OwnNode } from "../src/kube/process/own-node.ts";
import type { KubeClient } from "../src/kube/rest.ts";
import { type HeldObject, readHeld } from "../src/ledger/reservation/list-holds.ts";
import { makeLog } from "../src/log/log.ts";
import { runDaemon } from "../src/node/daemon.ts";
import { nodeMetrics } from "../src/node/metrics.ts";
import { realMachine } from "../src/node/real-machine.ts";

export interface LocalOptions {
  readonly client: KubeClient;
  readonly systemNamespace: string;
  readonly socket: string;
  /** Folder of what must survive a restart. */
  readonly state: string;
  readonly cooldownMs: number;
  /** Networks whose VMs are served DHCP, and where they are. */
  readonly dhcp: readonly Target[];
  /** Where its metrics and `/leases` are, on loopback; 0: a free port. */
  readonly metricsPort: number;
  readonly onHealth: (port: number) => void;
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
  const registry = new Registry();
  const kubeMetrics = new KubeMetrics(registry);
  let serves: (network: ObjectKey) => boolean = () => false;
  const interfaces = new Map(options.dhcp.map((target) => [target.key, target.interface]));
  const controller = assembleController({
    client,
    clock,
    log,
    systemNamespace,
    cooldownMs,
    instance: hostname(),
    registry,
    kubeMetrics,
    agentInProcess: { name: `holdfast up on ${node}`, interfaces, serves: (network) => serves(network) },
  });
  const { reservations, holds } = controller.caches;
  // Under the lease of controllers: a second one stands by, and commands that must not run beside one see it. The
  // folder is locked: this name is one process, and the next one after a crash need not wait.
  const identity = `holdfast up on ${node}`;
  const isOver = (uid: string) =>
    ![...reservations.cache.list(), ...holds.cache.list()].some((object) => isOf(object as HeldObject, uid));
  const ownNode = new OwnNode({ client, clock, name: node, keeper: "`holdfast up`", isOver, onError });
  await ownNode.register(signal);
  const ended = new AbortController();
  const until = AbortSignal.any([signal, ended.signal]);
  const daemon = runDaemon(
    {
      ...options,
      node,
      isolation: { isolated: false, globalNamespaces: [] },
      metrics: nodeMetrics(new Registry()),
      ...realMachine,
      log: makeLog({ write, level: "info", format: "text", now: Date.now }),
    },
    until,
  );
  const stopOthers = (error: unknown) => {
    ended.abort();
    throw error;
  };
  // Nobody is there to take over, and its state is in the same folder as the API server's.
  const agent: AgentOptions = {
    client,
    clock,
    log,
    systemNamespace,
    name: node,
    targets: options.dhcp,
    openWire,
    handOverMs: 0,
    registry,
    kubeMetrics,
    health: { host: "127.0.0.1", port: options.metricsPort },
    onListen: options.onHealth,
    onStart: (started) => (serves = started),
  };
  const answering = options.dhcp.length === 0 ? Promise.resolve() : runAgent(agent, until);
  const leading = controller.run(until, { election: { identity, ...leaseMs }, runnables: [ownNode.keep] });
  await Promise.all([leading.catch(stopOthers), daemon.catch(stopOthers), answering.catch(stopOthers)]);
}

function isOf(object: HeldObject, uid: string): boolean {
  return readHeld(object).some(
    (each) => each.unreadable === undefined && each.cooling === undefined && each.hold.owner.uid === uid,
  );
}
