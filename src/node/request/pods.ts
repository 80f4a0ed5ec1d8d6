// The pods of this node: from the informer, else from the API server. An ADD's facts of a pod, as one value.
import { isPodOf, mirrorAnnotation } from "../../api/holds/pod-uid.ts";
import { pods } from "../../cluster/resources.ts";
import type { AttachmentInvocation } from "../../cni/invocation.ts";
import { selectionOf } from "../../cni/selection.ts";
import type { Cache } from "../../kube/cache/store.ts";
import { deadline } from "../../kube/clock.ts";
import type { DeepReadonly, KubeObject } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { DaemonContext } from "../context.ts";
import type { ObjectName } from "../holds/sandboxes.ts";
import type { LoadedConfig } from "./configurations.ts";

export interface PodFacts extends ObjectName {
  readonly annotations: Readonly<Record<string, string>>;
  readonly statefulSet?: string;
  /** The kubelet's copy of a pod from a file: it knows the pod under another UID than the API server. */
  readonly isMirror: boolean;
  readonly object: DeepReadonly<KubeObject>;
}

/** An empty UID: any pod of the name. */
export interface PodQuery extends ObjectName {
  /** From the API server, though the informer has it: its annotations may have changed a moment ago. */
  readonly isFresh?: boolean;
}

/**
 * The informer may be a moment behind the kubelet, so a missing pod is asked for. So is one without a UID: under the
 * UID of a gone namesake the hold would be collected with it. Throws the client's error; undefined: no such pod.
 */
export type FindPod = (query: PodQuery, signal: AbortSignal) => Promise<PodFacts | undefined>;

export function podFinder(client: KubeClient, cache: Cache<KubeObject>): FindPod {
  return async ({ namespace, name, uid, isFresh = false }, signal) => {
    const cached = cache.get(`${namespace}/${name}`);
    if (cached !== undefined && uid !== "" && !isFresh && isPodOf(cached.metadata, uid)) return factsOf(cached);
    const pod = await client.lookUp(pods, { namespace, name }, { signal });
    return pod !== undefined && isPodOf(pod.metadata, uid) ? factsOf(pod) : undefined;
  };
}

function factsOf(pod: DeepReadonly<KubeObject>): PodFacts {
  const { uid = "", namespace = "", name = "", annotations = {}, ownerReferences = [] } = pod.metadata;
  const maker = ownerReferences.find((each) => each.controller === true && each.kind === "StatefulSet");
  return {
    uid,
    namespace,
    name,
    annotations,
    ...(maker !== undefined && maker.apiVersion.startsWith("apps/") && { statefulSet: maker.name }),
    isMirror: annotations[mirrorAnnotation] !== undefined,
    object: { ...pod, apiVersion: "v1", kind: "Pod" },
  };
}

async function remembered(fresh: Promise<PodFacts | undefined>, known: PodFacts, signal: AbortSignal) {
  try {
    return await fresh;
  } catch {
    signal.throwIfAborted();
    return known;
  }
}

/** The API server answers in milliseconds or is away; a pod of this node is in the informer long before. */
const awayMs = 2000;

/**
 * Undefined where there is no such pod; for a network of this node's slices alone, also without the API server. Not so
 * for tenants, sticky addresses or claims: a StatefulSet's pod or a VM would get another address than its own.
 */
export async function podOf(
  parts: DaemonContext,
  { args, interfaceName }: AttachmentInvocation,
  { config, persistence }: LoadedConfig,
  signal: AbortSignal,
  { isCheck = false }: { readonly isCheck?: boolean } = {},
): Promise<PodFacts | undefined> {
  const { podNamespace: namespace, podName: name, podUid: uid } = args;
  if (namespace === "" || name === "") return undefined;
  const isOwn = config.poolNamespace === "nad";
  const mustKnow = parts.isolation.isolated || config.sticky !== "none" || persistence.isAllowed || isOwn;
  const query = { namespace, name, uid };
  if (!parts.sliced.isWhole(config) || mustKnow) {
    const pod = await parts.findPod(query, signal);
    // The informer may not have an interface yet that was plugged into a running pod a moment ago.
    const isNew = pod !== undefined && selectionOf(pod, interfaceName) === undefined;
    const fresh = () => parts.findPod({ ...query, isFresh: true }, signal);
    // Whose definition it is decides what a new domain is, on record and for good: an ADD waits for the answer. A CHECK
    // hands nothing out.
    if (isNew && isOwn) return fresh();
    if (isNew && !config.overlappingRanges) return isCheck ? remembered(fresh(), pod, signal) : fresh();
    return pod;
  }
  try {
    using limit = deadline(parts.clock, awayMs, signal);
    return await parts.findPod(query, limit.signal);
  } catch (error) {
    signal.throwIfAborted();
    const words = "the pod cannot be asked for; it gets its address without what its annotations may say";
    parts.log.warn(words, { pod: `${namespace}/${name}`, error });
    return undefined;
  }
}
