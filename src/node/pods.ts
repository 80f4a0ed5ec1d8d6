// The pods of this node: from the informer, else from the API server. What an ADD needs to know of a pod, as one value.
import { isPodOf, mirrorAnnotation } from "../api/pod-uid.ts";
import { isApiError } from "../kube/errors.ts";
import type { DeepReadonly, KubeObject } from "../kube/meta.ts";
import type { Resource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { Cache } from "../kube/store.ts";

export interface PodFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The StatefulSet that made it; undefined where something else did. */
  readonly statefulSet?: string;
  /** The kubelet's copy of a pod that it started from a file: it knows the pod under another UID than the API server. */
  readonly isMirror: boolean;
  /** For events. */
  readonly object: DeepReadonly<KubeObject>;
}

export interface PodQuery {
  readonly namespace: string;
  readonly name: string;
  /** Empty: whichever pod has the name. */
  readonly uid: string;
  /** From the API server, though the informer has it: its annotations may have changed a moment ago. */
  readonly isFresh?: boolean;
}

export class Pods {
  readonly #client: KubeClient;
  readonly #resource: Resource;
  readonly #cache: Cache<KubeObject>;

  constructor(client: KubeClient, resource: Resource, cache: Cache<KubeObject>) {
    this.#client = client;
    this.#resource = resource;
    this.#cache = cache;
  }

  /**
   * The informer may be a moment behind the kubelet: what it does not have is asked for, and so is which of two namesakes is
   * meant, where the runtime names no UID. Under the UID of the one that is gone, the hold would be collected with it. Undefined where there is no such
   * pod; throws the client's error where the API server does not answer.
   */
  async find(query: PodQuery, signal: AbortSignal): Promise<PodFacts | undefined> {
    const cached = this.#cache.get(`${query.namespace}/${query.name}`);
    const isEnough = query.uid !== "" && query.isFresh !== true;
    if (cached !== undefined && isEnough && isPodOf(cached.metadata, query.uid)) return factsOf(cached);
    try {
      const { namespace, name } = query;
      const pod = await this.#client.get(this.#resource, { namespace, name }, { signal });
      return isPodOf(pod.metadata, query.uid) ? factsOf(pod) : undefined;
    } catch (error) {
      if (isApiError(error, "not-found")) return undefined;
      throw error;
    }
  }
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
