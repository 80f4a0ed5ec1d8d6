// What is known of the things that an address's life depends on: a pod, a node, a StatefulSet. Values, made from objects at the
// border; absence is a fact too, and stands here as `undefined`.

export interface PodFacts {
  readonly uid: string;
  readonly node: string;
  readonly phase: string;
  /** It has a deletionTimestamp: its containers may still run. */
  readonly isTerminating: boolean;
  /** The kubelet's copy of a pod that it started from a file: the UID under which the kubelet, and so the CNI plugin, knows it. */
  readonly mirrorOf?: string;
}

/** Under which the kubelet says so. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";

/** `unreachable`: NotReady or Unknown. `out-of-service`: an operator has said that nothing runs there any more. */
export type NodeState = "ready" | "unreachable" | "out-of-service";

export interface StatefulSetFacts {
  /** spec.ordinals.start */
  readonly start: number;
  readonly replicas: number;
  readonly isTerminating: boolean;
}

export interface Facts {
  /** The pod of the owner's namespace and name, whatever its UID; undefined: there is none. */
  readonly pod: PodFacts | undefined;
  /** The state of a node; undefined: there is no such Node. */
  readonly nodeState: (name: string) => NodeState | undefined;
  /** Some node that is unreachable, if there is any. */
  readonly unreachableNode: string | undefined;
  /** That of the keeper; undefined: it does not exist, or there is no keeper. */
  readonly statefulSet: StatefulSetFacts | undefined;
  /** Where the pod was when it was last seen, for holds that do not say it; empty: never seen. */
  readonly lastNode: string;
  /** The owner has another hold in the same range, and the pod's network-status shows that one and not this. */
  readonly isSuperseded: boolean;
}

interface ConditionLike {
  readonly type: string;
  readonly status: string;
}

interface NodeLike {
  readonly spec?: { readonly taints?: readonly { readonly key: string }[] | undefined } | undefined;
  readonly status?: { readonly conditions?: readonly ConditionLike[] | undefined } | undefined;
}

const outOfService = "node.kubernetes.io/out-of-service";

/**
 * A node that reports is ready, also where the taint was left on it when it came back: pods that tolerate everything run there. One
 * without a Ready condition has never reported: nothing is known of what runs there.
 */
export function nodeStateOf({ spec, status }: NodeLike): NodeState {
  if (status?.conditions?.find(({ type }) => type === "Ready")?.status === "True") return "ready";
  return spec?.taints?.some(({ key }) => key === outOfService) === true ? "out-of-service" : "unreachable";
}
