// The pod behind a request, as far as it can be known.
import type { AttachmentInvocation } from "../cni/invocation.ts";
import { selectionOf } from "../cni/selection.ts";
import { asError } from "../kube/abort.ts";
import type { LoadedConfig } from "./configs.ts";
import type { Parts } from "./parts.ts";
import type { PodFacts } from "./pods.ts";

/** The API server answers in milliseconds or is away; a pod that this node may run is in the informer long before. */
const awayMs = 2000;

/**
 * Undefined where there is no such pod. For a network that comes from this node's slices alone, also where the API server does not
 * answer: what the pod's annotations would ask for beside is not known then. Where tenants are kept apart, or addresses stay with names or claims,
 * it must be known: a pod of a StatefulSet, or a VM, would silently get another address than its own.
 */
export async function podOf(
  parts: Parts,
  { args, interfaceName }: AttachmentInvocation,
  { config, persistence }: LoadedConfig,
  signal: AbortSignal,
): Promise<PodFacts | undefined> {
  const { podNamespace: namespace, podName: name, podUid: uid } = args;
  if (namespace === "" || name === "") return undefined;
  const isOwn = config.poolNamespace === "nad";
  const mustKnow = parts.isolation.isolated || config.sticky !== "none" || persistence.isAllowed || isOwn;
  if (!parts.sliced.isWhole(config) || mustKnow) {
    const pod = await parts.pods.find({ namespace, name, uid }, signal);
    // An interface that was plugged into a running pod a moment ago may not have come to the informer yet.
    const isNew = isOwn && pod !== undefined && selectionOf(pod, interfaceName) === undefined;
    return isNew ? parts.pods.find({ namespace, name, uid, isFresh: true }, signal) : pod;
  }
  try {
    return await parts.pods.find({ namespace, name, uid }, AbortSignal.any([signal, AbortSignal.timeout(awayMs)]));
  } catch (error) {
    signal.throwIfAborted();
    parts.log.warn("the pod cannot be asked for; it gets its address without what its annotations may say", {
      pod: `${namespace}/${name}`,
      error: asError(error),
    });
    return undefined;
  }
}
