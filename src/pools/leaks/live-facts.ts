// The facts about a hold: from the informers' caches for a first look, read anew from the server just before a free.
import { nodeLabel } from "../../api/holds/hold-marks.ts";
import { mirrorAnnotation } from "../../api/holds/pod-uid.ts";
import { readNetworkStatus, statusAnnotation } from "../../api/network-status.ts";
import { nodeLeaseName } from "../../api/slices/node-lease.ts";
import { nodeOfLease, type Standing, standingByNote } from "../../cluster/fencing.ts";
import type { Asking, Judge } from "../../cluster/node-presence.ts";
import * as kinds from "../../cluster/resources.ts";
import type { Lease } from "../../kube/lease.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { type PoolHold, isNameless } from "../pool-hold.ts";
import type { Facts, PodFacts } from "./judge.ts";
import { isSuperseded } from "./superseded.ts";

export interface Nodes {
  readonly stateOf: (node: string) => Standing;
  /** Some node that is unreachable and may have had a pod when the hold was made, if there is any. */
  readonly unreachableFor: (held: Pick<PoolHold, "createdMs">) => string | undefined;
}

/** By the name as holds carry it (nodeLabel). */
export function nodesOf(
  judge: Judge,
  nodes: Iterable<DeepReadonly<kinds.Node>>,
  leases: Iterable<DeepReadonly<Lease>>,
): Nodes {
  const leased = new Map([...leases].map((lease) => [nodeOfLease(lease) ?? "", lease]));
  const found = new Map([...nodes].map((node) => [node.metadata.name ?? "", node]));
  const states = new Map<string, Standing>();
  for (const name of new Set([...found.keys(), ...leased.keys()])) {
    if (name !== "") states.set(nodeLabel(name), judge(name, found.get(name), leased.get(name)));
  }
  const lost = [...states.keys()].filter((name) => states.get(name) === "unreachable");
  // Nodes come and go where a cluster is scaled: one that is deleted, and by its Lease came after the hold, does not
  // keep it. Without any Node the machine's Lease is its node.
  const there = new Set([...(found.size > 0 ? found : leased).keys()].map(nodeLabel));
  const unreachable = lost.find((name) => there.has(name));
  const madeMs = new Map([...leased].map(([name, lease]) => [nodeLabel(name), createdMs(lease)]));
  const [oldest] = lost.filter((name) => !there.has(name)).toSorted((a, b) => madeMs.get(a)! - madeMs.get(b)!);
  return {
    stateOf: (node) => states.get(node) ?? judge(node, undefined, undefined),
    unreachableFor: (held) => {
      const isOlder = oldest !== undefined && madeMs.get(oldest)! <= (held.createdMs ?? Number.POSITIVE_INFINITY);
      return unreachable ?? (isOlder ? oldest : undefined);
    },
  };
}

/** Of one that does not say it: it may have been there always. */
function createdMs({ metadata }: DeepReadonly<Lease>): number {
  return Date.parse(metadata.creationTimestamp ?? "") || 0;
}

/** For who looks once. */
export function judgeOnce({ nodes, nowMs: wallMs }: { nodes: readonly kinds.Node[]; nowMs: number }): Judge {
  return (_, node, lease) => standingByNote({ node, lease, isAlone: nodes.length === 0, wallMs });
}

export function podFactsOf(pod: DeepReadonly<kinds.Pod>): PodFacts {
  const { uid = "", deletionTimestamp, annotations } = pod.metadata;
  const mirrorOf = annotations?.[mirrorAnnotation];
  return {
    uid,
    node: nodeLabel(pod.spec?.nodeName ?? ""),
    phase: pod.status?.phase ?? "",
    isTerminating: deletionTimestamp !== undefined,
    ...(mirrorOf !== undefined && { mirrorOf }),
  };
}

interface Around {
  readonly lastNode: string;
  /** The owner's holds in one pool, this one among them; empty: it has no other. */
  readonly doubles: readonly PoolHold[];
}

interface Known {
  /** Key: namespace/name. */
  readonly pods: { get(key: string): DeepReadonly<kinds.Pod> | undefined };
  readonly statefulSets: { get(key: string): DeepReadonly<kinds.StatefulSet> | undefined };
}

export function factsFrom(known: Known, nodes: Nodes, held: PoolHold, around: Around): Facts {
  const { namespace, name } = held.hold.owner;
  const keeper = keeperName(held);
  const set = keeper === undefined ? undefined : known.statefulSets.get(`${namespace}/${keeper}`);
  return factsOf(held, known.pods.get(`${namespace}/${name}`), nodes, set, around);
}

/** Throws where the server does not answer: then nothing is known, and nothing may be freed. */
export async function liveFacts(asking: Asking, held: PoolHold, around: Around): Promise<Facts> {
  const { client, signal } = asking;
  const { namespace, name } = held.hold.owner;
  const pod = isNameless(held) ? undefined : await client.lookUp(kinds.pods, { namespace, name }, { signal });
  const keeper = keeperName(held);
  const at = { namespace, name: keeper ?? "" };
  const set = keeper === undefined ? undefined : await client.lookUp(kinds.statefulSets, at, { signal });
  const podNode = nodeLabel(pod?.spec?.nodeName ?? "");
  // Where the pod was is not known: any node that is unreachable may have it.
  const isUnknown = held.node === "" && around.lastNode === "";
  const nodes = await readNodes(asking, isUnknown ? [] : [held.node, podNode, around.lastNode]);
  return factsOf(held, pod, nodes, set, around);
}

function factsOf(
  held: PoolHold,
  pod: DeepReadonly<kinds.Pod> | undefined,
  nodes: Nodes,
  set: DeepReadonly<kinds.StatefulSet> | undefined,
  { lastNode, doubles }: Around,
): Facts {
  const { replicas = 1, ordinals } = set?.spec ?? {};
  const { deletionTimestamp } = set?.metadata ?? {};
  return {
    pod: pod && podFactsOf(pod),
    nodeState: nodes.stateOf,
    unreachableNode: nodes.unreachableFor(held),
    statefulSet: set && { start: ordinals?.start ?? 0, replicas, isTerminating: deletionTimestamp !== undefined },
    lastNode,
    // Read only where it decides something: a look goes over every hold.
    isSuperseded:
      doubles.length > 0 && isSuperseded(held, doubles, readNetworkStatus(statusAnnotation(pod?.metadata.annotations))),
  };
}

function keeperName({ hold }: PoolHold): string | undefined {
  const [kind, name] = (hold.note?.keeper ?? "").split("/");
  return kind === "statefulset" && name !== "" ? name : undefined;
}

/** A label of this length may be a name that was cut: only a list tells. */
const longestLabel = 63;

/** Those that matter, or all where none is given or a name was cut. */
async function readNodes(asking: Asking, labels: readonly string[]): Promise<Nodes> {
  const { client, systemNamespace: namespace, judge, signal } = asking;
  const known = [...new Set(labels)].filter((label) => label !== "");
  if (known.length === 0 || known.some((label) => label.length >= longestLabel)) {
    const nodes = (await client.list(kinds.nodes, { signal })).items;
    return nodesOf(judge, nodes, (await client.list(kinds.leases, { namespace, signal })).items);
  }
  const nodes = await Promise.all(known.map((name) => client.lookUp(kinds.nodes, { name }, { signal })));
  const names = known.map(nodeLeaseName);
  const leases = await Promise.all(names.map((name) => client.lookUp(kinds.leases, { namespace, name }, { signal })));
  const isThere = <T>(each: T | undefined) => each !== undefined;
  return nodesOf(judge, nodes.filter(isThere), leases.filter(isThere));
}
