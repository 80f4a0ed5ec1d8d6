// Annotations of launcher pods, written by their status: that needs no right to change what a pod runs.
import { type Pod, pods } from "../../cluster/resources.ts";
import { type DeepReadonly, keyOf, parseKey } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";

type Texts = Readonly<Record<string, string>>;

/** Throws `conflict` if the pod has changed since it was read: somebody else may have written the same annotation. */
export async function annotate(client: KubeClient, pod: DeepReadonly<Pod>, texts: Texts, signal: AbortSignal) {
  const { uid, resourceVersion } = pod.metadata;
  await patch(client, pod, { uid, resourceVersion, annotations: texts }, signal);
}

/** An annotation that is ours alone, whatever else has changed. Throws `invalid` if it is another pod of that name. */
export async function annotateOurs(client: KubeClient, pod: DeepReadonly<Pod>, texts: Texts, signal: AbortSignal) {
  await patch(client, pod, { uid: pod.metadata.uid, annotations: texts }, signal);
}

async function patch(client: KubeClient, pod: DeepReadonly<Pod>, metadata: object, signal: AbortSignal) {
  const body = { metadata };
  await client.patch(pods, parseKey(keyOf(pod)), { type: "merge", body }, { subresource: "status", signal });
}
