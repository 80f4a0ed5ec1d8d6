// Starts a cluster: what is left of dead ones is removed, binaries are built if they are not, then every part in order.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import { ensureKubeBinaries, type KubeBinaries } from "../../tools/kube/build.ts";
import type { ProgramName } from "../../tools/kube/programs.ts";
import { Cluster } from "./cluster.ts";
import { ComponentError } from "./component.ts";
import { type ControlPlanePlan, makeApiServer, makeControllerManager, makeScheduler } from "./control-plane.ts";
import { define, type LabDefinition } from "./definitions.ts";
import { makeEtcd } from "./etcd.ts";
import { type Identities, makeIdentities } from "./identities.ts";
import { apiPortInNamespace, bridgeAddress, makeNetwork } from "./network.ts";
import { type NodesOptions, startNodes } from "./nodes.ts";
import { inNamespaceAt, onTheMachine, type Place } from "./place.ts";
import { freePort } from "./port.ts";
import { reap, removeCluster } from "./reaper.ts";
import { relayInto } from "./relay.ts";
import { requirePrograms } from "./requirements.ts";
import { type Access, Rest } from "./rest.ts";
import { SandboxRetries } from "./retries.ts";
import { StateFile } from "./state.ts";

export interface ClusterOptions extends NodesOptions {
  /** Real nodes, 0 to 5; they need root. */
  readonly nodes?: number;
  readonly log?: (line: string) => void;
  /** etcd waits for the disk at every write; slower, and only a power cut shows the difference. */
  readonly fsync?: boolean;
  /** Pods need a service account, as in production. Default: with nodes yes, without no. */
  readonly serviceAccounts?: boolean;
  /** More arguments for kube-apiserver. */
  readonly apiserverArgs?: readonly string[];
  /** kubelet makes a sandbox that failed again after 10 to 15 s, as in production; else after two. */
  readonly patient?: boolean;
  /** Without nodes: the control plane is in this network namespace and serves at this address, a guest's say. */
  readonly within?: { readonly netns: string; readonly address: string };
  /** Custom kinds that garbage collection knows from the start; those that come later it knows up to a minute later. */
  readonly definitions?: readonly LabDefinition[];
}

/** For the hook that starts a cluster: mostly seconds; a machine's first builds the binaries, 6 minutes on 2 cores. */
export const coldStartTimeoutMs = 20 * 60_000;

/** About 150 MB each and 14 MB per pod: five of them leave room on an 8 GB machine. */
const mostNodes = 5;
const controlPlanePrograms: readonly ProgramName[] = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"];
/** Two clusters that start at once may pick the same port; three times in a row they do not. */
const portTries = 3;

export async function cluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { nodes = 0, signal, log } = options;
  if (!Number.isInteger(nodes) || nodes < 0 || nodes > mostNodes)
    throw new RangeError(`nodes: 0 to ${mostNodes}, not ${nodes}`);
  if (nodes > 0 && process.getuid?.() !== 0)
    throw new Error("a cluster with nodes needs root: it makes namespaces and cgroups");
  requirePrograms(nodes > 0);
  // What another one left is worth a word, but no reason not to start.
  await reap().catch((error: Error) => log?.(`cannot remove what a dead cluster left: ${error.message}`));
  const only = nodes > 0 ? {} : { only: controlPlanePrograms };
  const binaries = await ensureKubeBinaries({ ...only, ...(log && { log }), ...(signal && { signal }) });
  const state = new StateFile(`lab-${randomBytes(4).toString("hex")}`);
  try {
    return await start(binaries, state, options);
  } catch (error) {
    await removeCluster(state.state);
    throw error;
  }
}

async function start(binaries: KubeBinaries, state: StateFile, options: ClusterOptions): Promise<Cluster> {
  const { nodes: count = 0, signal, apiserverArgs = [], fsync = false, serviceAccounts = count > 0 } = options;
  const { definitions = [], within } = options;
  const network = count > 0 ? await makeNetwork(state) : undefined;
  const place = network?.place ?? (within && inNamespaceAt(within.netns));
  const address = network !== undefined ? bridgeAddress : (within?.address ?? "127.0.0.1");
  const nodeNames = Array.from({ length: count }, (_, index) => `node${index + 1}`);
  const base = {
    binaries,
    state,
    nodeNames,
    apiserverArgs,
    fsync,
    serviceAccounts,
    place: place ?? onTheMachine,
    bindAddress: place === undefined ? "127.0.0.1" : "0.0.0.0",
    advertiseAddress: address,
  };
  const etcd = makeEtcd(base);
  const identities = await makeIdentities(state.folder, address, nodeNames);
  await etcd.start(signal);
  const { apiserver, access, rest, plan } = await startApiServer(base, identities, place, signal);
  await define(rest, definitions, signal);
  const controllerManager = makeControllerManager(plan, identities);
  const scheduler = makeScheduler(plan, identities);
  await controllerManager.start(signal);
  if (network !== undefined) await scheduler.start(signal);
  const parts = { state, binaries, access, rest, etcd, apiserver, controllerManager };
  if (network === undefined) return new Cluster({ ...parts, nodes: [] });
  const nodes = await startNodes({ plan, identities, network, rest, access }, options);
  const retries = options.patient === true ? undefined : new SandboxRetries(rest);
  return new Cluster({ ...parts, scheduler, network, nodes, ...(retries && { retries }) });
}

async function startApiServer(
  base: Omit<ControlPlanePlan, "port">,
  identities: Identities,
  place: Place | undefined,
  signal: AbortSignal | undefined,
) {
  const ca = readFileSync(identities.authority.own.certificate, "utf8");
  for (let round = 1; ; round++) {
    const port = place === undefined ? await freePort() : apiPortInNamespace;
    const plan: ControlPlanePlan = { ...base, port };
    const outer = place === undefined ? { port } : await relayInto(place, { host: "127.0.0.1", port }, base.state);
    const access: Access = { url: `https://127.0.0.1:${outer.port}`, ca, token: identities.admin.token };
    const rest = new Rest(access);
    const apiserver = makeApiServer(plan, identities, rest);
    try {
      await apiserver.start(signal);
      return { apiserver, access, rest, plan };
    } catch (error) {
      rest.close();
      const taken = error instanceof ComponentError && error.message.includes("address already in use");
      if (!taken || round === portTries) throw error;
    }
  }
}
