// Whether what ran on a node may still run: the rule that everybody goes by who frees what a pod had. Pure.

/** `unreachable`: NotReady or Unknown. `out-of-service`: an operator has said that nothing runs there any more. */
export type NodeState = "ready" | "unreachable" | "out-of-service";

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
