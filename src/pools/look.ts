// The facts about a hold: from the informers' caches for a first look, and read anew from the server just before a free.
import { nodeLabel } from "../api/hold-marks.ts";
import { readNetworkStatus, statusAnnotation } from "../api/network-status.ts";
import { mirrorAnnotation } from "../api/pod-uid.ts";
import { lookUp } from "../kube/look-up.ts";
import type { DeepReadonly } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import { type NodeState, nodeStateOf } from "../ledger/node-state.ts";
import * as kinds from "../ledger/resources.ts";
import { type Facts, type PodFacts, type StatefulSetFacts } from "./facts.ts";
import { type Held, isNameless } from "./held.ts";
import { isSuperseded } from "./superseded.ts";
import type { World } from "./world.ts";

export interface Nodes {
  readonly stateOf: (node: string) => NodeState | undefined;
  readonly unreachable: string | undefined;
}

/** By the name as holds carry it (nodeLabel). */
export function nodesOf(nodes: Iterable<DeepReadonly<kinds.Node>>): Nodes {
  const states = new Map<string, NodeState>();
  for (const node of nodes) states.set(nodeLabel(node.metadata.name ?? ""), nodeStateOf(node));
  const unreachable = [...states].find(([, state]) => state === "unreachable")?.[0];
  return { stateOf: (node) => states.get(node), unreachable };
}

function podFactsOf(pod: DeepReadonly<kinds.Pod>): PodFacts {
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

function statefulSetFactsOf({ metadata, spec }: DeepReadonly<kinds.StatefulSet>): StatefulSetFacts {
  const { replicas = 1, ordinals } = spec ?? {};
  return { start: ordinals?.start ?? 0, replicas, isTerminating: metadata.deletionTimestamp !== undefined };
}

interface Around {
  readonly lastNode: string;
  /** The owner's holds in one pool, this one among them; empty: it has no other. */
  readonly doubles: readonly Held[];
}

export function cachedFacts(world: World, nodes: Nodes, held: Held, around: Around): Facts {
  return factsFrom({ pods: world.pods.cache, statefulSets: world.statefulSets.cache }, nodes, held, around);
}

interface Known {
  /** Key: namespace/name. */
  readonly pods: { get(key: string): DeepReadonly<kinds.Pod> | undefined };
  readonly statefulSets: { get(key: string): DeepReadonly<kinds.StatefulSet> | undefined };
}

export function factsFrom(known: Known, nodes: Nodes, held: Held, around: Around): Facts {
  const { namespace, name } = held.hold.owner;
  const pod = known.pods.get(`${namespace}/${name}`);
  const keeper = keeperName(held);
  const set = keeper === undefined ? undefined : known.statefulSets.get(`${namespace}/${keeper}`);
  return factsOf(held, pod, nodes, set && statefulSetFactsOf(set), around);
}

/** Throws where the server does not answer: then nothing is known, and nothing may be freed. */
export async function liveFacts(client: KubeClient, held: Held, around: Around, signal: AbortSignal): Promise<Facts> {
  const { namespace, name } = held.hold.owner;
  const pod = isNameless(held) ? undefined : await lookUp(client, kinds.pods, { namespace, name }, { signal });
  const keeper = keeperName(held);
  const set =
    keeper === undefined
      ? undefined
      : await lookUp(client, kinds.statefulSets, { namespace, name: keeper }, { signal });
  const podNode = nodeLabel(pod?.spec?.nodeName ?? "");
  // Where the pod was is not known: any node that is unreachable may have it.
  const isUnknown = held.node === "" && around.lastNode === "";
  const nodes = await readNodes(client, isUnknown ? [] : [held.node, podNode, around.lastNode], signal);
  return factsOf(held, pod, nodes, set && statefulSetFactsOf(set), around);
}

function factsOf(
  held: Held,
  pod: DeepReadonly<kinds.Pod> | undefined,
  nodes: Nodes,
  statefulSet: StatefulSetFacts | undefined,
  { lastNode, doubles }: Around,
): Facts {
  return {
    pod: pod && podFactsOf(pod),
    nodeState: nodes.stateOf,
    unreachableNode: nodes.unreachable,
    statefulSet,
    lastNode,
    // Read only where it decides something: a look goes over every hold.
    isSuperseded:
      doubles.length > 0 && isSuperseded(held, doubles, readNetworkStatus(statusAnnotation(pod?.metadata.annotations))),
  };
}

function keeperName({ hold }: Held): string | undefined {
  const [kind, name] = (hold.note?.keeper ?? "").split("/");
  return kind === "statefulset" && name !== "" ? name : undefined;
}

/** A label of this length may be a name that was cut: only a list tells. */
const longestLabel = 63;

/** Those that matter, or all where none is given or a name was cut. */
async function readNodes(client: KubeClient, labels: readonly string[], signal: AbortSignal): Promise<Nodes> {
  const known = [...new Set(labels)].filter((label) => label !== "");
  if (known.length === 0 || known.some((label) => label.length >= longestLabel)) {
    return nodesOf((await client.list(kinds.nodes, { signal })).items);
  }
  const found = await Promise.all(known.map((name) => lookUp(client, kinds.nodes, { name }, { signal })));
  return nodesOf(found.filter((node) => node !== undefined));
}
