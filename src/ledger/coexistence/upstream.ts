// Whether whereabouts, or another writer of its objects, is at work, and in which namespace it keeps its pools. Looked
// for only where administrators alone write: what a tenant deploys is no sign. What is found decides once, at install,
// and whether an operator's "off" may take effect; later it warns. Errs on the side of "active". An hour's window
// forgives other machines' clocks. It reads every IPPool of the namespace: ask once a minute.
import { sliceLabelName } from "../../api/slices/slice-grant.ts";
import { type DaemonSet, daemonSets, type Deployment, deployments, holds } from "../../cluster/resources.ts";
import { ipPools, leases, nodeSlicePools, reservations } from "../../cluster/resources.ts";
import { isApiError } from "../../kube/errors.ts";
import type { KubeObject } from "../../kube/meta.ts";
import type { Resource } from "../../kube/resource.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Signal } from "../../kube/unless.ts";

export interface UpstreamOptions {
  readonly systemNamespace: string;
  /** Where ours and its pools are. Default: the system namespace. */
  readonly poolNamespace?: string;
  /** Where its workloads may stand: namespaces that only administrators write. */
  readonly namespaces?: readonly string[];
  /** The wall clock: leases and managed fields carry its time. */
  readonly now: () => number;
  /** How far back a lease or a write counts as activity. Default: an hour. */
  readonly lookBackMs?: number;
  readonly signal?: AbortSignal;
}

export interface Upstream {
  /** Some writer of whereabouts' objects that is not ours is, or was lately, at work on the pools of our namespace. */
  readonly active: boolean;
  /** Something that frees addresses runs: holds need their finalizer. */
  readonly reconciler: boolean;
  readonly why: readonly string[];
  /** Workloads that keep their pools in another namespace: a range of theirs and ours would have two ledgers. */
  readonly elsewhere: readonly { readonly workload: string; readonly namespace: string }[];
}

/** whereabouts leaves its lease and its objects alone between two pods; where none came for an hour, none comes now. */
const defaultLookBackMs = 3_600_000;

/** Where its own manifests and OpenShift put it. */
export const defaultUpstreamNamespaces = ["kube-system", "openshift-multus"];

export async function detectUpstream(client: KubeClient, options: UpstreamOptions): Promise<Upstream> {
  const { systemNamespace, poolNamespace: namespace = systemNamespace, now, signal } = options;
  const { lookBackMs = defaultLookBackMs, namespaces = defaultUpstreamNamespaces } = options;
  const sinceMs = now() - lookBackMs;
  const [found, leased, pools] = await Promise.all([
    workloadsIn(client, new Set([systemNamespace, namespace, ...namespaces]), signal),
    leaseSigns(client, namespace, sinceMs, signal),
    // Slices are as many as nodes times networks: whereabouts makes unlabelled ones.
    client.list(ipPools, { namespace, labelSelector: `!${sliceLabelName}`, signal }),
  ]);
  const workloads = found.filter((each) => each.namespace === namespace);
  const seen = workloads.map(({ workload }) => `${workload} runs whereabouts.`);
  const why = [...seen, ...leased, ...foreignWriters(pools.items, sinceMs)];
  const elsewhere = found.filter((each) => each.namespace !== namespace);
  return { active: why.length > 0, reconciler: workloads.length > 0, why, elsewhere };
}

async function workloadsIn(client: KubeClient, namespaces: Iterable<string>, signal: Signal) {
  const lists = Array.from(namespaces, async (namespace) => {
    const [sets, deployed] = await Promise.all([
      client.list(daemonSets, { namespace, signal }),
      client.list(deployments, { namespace, signal }),
    ]);
    const running = [...sets.items.filter(isRunning), ...deployed.items.filter(({ spec }) => spec?.replicas !== 0)];
    // By its image, whoever built it: `ghcr.io/k8snetworkplumbingwg/whereabouts:v0.9.4`. A name alone may be ours.
    const isImage = ({ image = "" }) => /(^|\/)[^/]*whereabouts[^/]*$/.test(image);
    return running.filter((each) => containersOf(each).some(isImage));
  });
  return (await Promise.all(lists)).flat().map((object) => {
    const { kind, metadata } = object;
    return { workload: `${kind} ${metadata.namespace}/${metadata.name}`, namespace: poolNamespaceOf(object) };
  });
}

/** It writes this variable into the kubeconfig of its plugin; without it that says kube-system. */
function poolNamespaceOf(object: DaemonSet | Deployment): string {
  const all = containersOf(object).flatMap(({ env = [] }) => env);
  const said = all.find(({ name }) => name === "WHEREABOUTS_NAMESPACE");
  return said?.valueFrom === undefined ? (said?.value ?? "kube-system") : (object.metadata.namespace ?? "");
}

function containersOf({ spec }: DaemonSet | Deployment) {
  const { containers = [], initContainers = [] } = spec?.template?.spec ?? {};
  return [...containers, ...initContainers];
}

async function leaseSigns(client: KubeClient, namespace: string, sinceMs: number, signal: Signal): Promise<string[]> {
  const lease = `Lease ${namespace}/whereabouts`;
  try {
    const { metadata, spec } = await client.get(leases, { namespace, name: "whereabouts" }, { signal });
    const writers = writersOf(metadata);
    // A migration holds the lease itself; its last word in it is no sign of whereabouts, which would leave its name.
    const isOurs = writers.length > 0 && writers.every(({ manager = "" }) => manager.startsWith("holdfast"));
    const ms = timeOf(spec?.renewTime);
    if (isOurs || ms <= sinceMs) return [];
    return [`${lease} was renewed at ${new Date(ms).toISOString()}: whereabouts handed out or took back.`];
  } catch (error) {
    if (isApiError(error, "not-found")) return [];
    if (!isApiError(error, "forbidden")) throw error;
    return [`${lease} may not be read: bind the ClusterRole holdfast-pool-namespace there (docs/install.md).`];
  }
}

/** A set that was made or changed a moment ago has no counts yet, or old ones: it counts as running. */
function isRunning({ status, metadata }: DaemonSet): boolean {
  const isCounted = status?.observedGeneration !== undefined && status.observedGeneration === metadata.generation;
  return !isCounted || (status.desiredNumberScheduled ?? 0) + (status.currentNumberScheduled ?? 0) > 0;
}

/** Writers that do not hand out or take back: people with their tools, and the garbage collector. */
const bystanders = /^(holdfast|kubectl|helm|argocd|flux|kustomize|kube-controller-manager|k9s|Mozilla)/;

/** One sentence for each writer, with the object that it wrote last. */
function foreignWriters(objects: readonly KubeObject[], sinceMs: number): string[] {
  /** manager -> what it wrote last, and when */
  const last = new Map<string, { readonly ms: number; readonly object: KubeObject }>();
  for (const object of objects) {
    for (const { manager = "", time } of writersOf(object.metadata)) {
      const ms = timeOf(time);
      if (ms > sinceMs && !bystanders.test(manager) && ms > (last.get(manager)?.ms ?? 0))
        last.set(manager, { ms, object });
    }
  }
  return Array.from(last, ([manager, { ms, object }]) => {
    const { namespace, name } = object.metadata;
    return `${JSON.stringify(manager)} wrote ${object.kind} ${namespace}/${name} at ${new Date(ms).toISOString()}.`;
  });
}

function writersOf({ managedFields = [] }: KubeObject["metadata"]) {
  return managedFields as readonly { readonly manager?: string; readonly time?: string }[];
}

function timeOf(text: string | undefined): number {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? Number.NEGATIVE_INFINITY : ms;
}

/** Why pools may not move to another namespace, and what to do: a leftover in the old one would be a second ledger. */
export async function whyNotMoved(
  client: KubeClient,
  { from, to, signal }: { readonly from: string; readonly to: string; readonly signal?: AbortSignal },
): Promise<string | undefined> {
  for (const resource of [ipPools, nodeSlicePools, reservations, holds] as readonly Resource[]) {
    const { items } = await client.list(resource, { namespace: from, signal });
    const [first] = items;
    if (first === undefined) continue;
    const more = items.length > 1 ? ` and ${items.length - 1} more` : "";
    return (
      `pools cannot go to the namespace ${to}: ${resource.kind} ${from}/${first.metadata.name}${more} would be a second ledger. Install Holdfast into ${to} (docs/install.md), ` +
      `or set WHEREABOUTS_NAMESPACE of whereabouts to ${from}, or delete them once no pod uses an address of theirs (holdfast pools), and say it again`
    );
  }
  return undefined;
}
