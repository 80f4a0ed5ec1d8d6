// A place of our own in the API server's fair queuing (flowcontrol.apiserver.k8s.io/v1).
//
// Without it a thousand daemons under one service account share the queues of every other workload, and a burst of new
// pods is answered 429. Not promised: more than a share; the server's total concurrency is its operator's.

export interface FlowControlOptions {
  /** Where the service accounts live. */
  readonly namespace: string;
  readonly serviceAccounts: readonly string[];
}

const defaultFlowControl: FlowControlOptions = {
  namespace: "kube-system",
  serviceAccounts: ["holdfast-node", "holdfast-controller"],
};

const name = "holdfast";

/**
 * One account is one flow, and a flow is dealt `handSize` queues: 8 x 800 = 6,400 requests may wait, one for each of 5,000
 * daemons and some. Two accounts of 64 queues share a whole hand only once in C(64, 8) = 4.4 billion.
 */
const queuing = { queues: 64, handSize: 8, queueLengthLimit: 800 };

/** The lowest number wins: before kube-system-service-accounts (900), which ours would match too; behind the scheduler (800). */
const matchingPrecedence = 850;

/** Of about 245 that a stock cluster deals out (workload-low has 100, workload-high 40): as much as workload-high. */
const nominalConcurrencyShares = 40;

export function flowControlObjects({ namespace, serviceAccounts }: FlowControlOptions = defaultFlowControl) {
  const apiVersion = "flowcontrol.apiserver.k8s.io/v1";
  const everything = { apiGroups: ["*"], resources: ["*"], verbs: ["*"], namespaces: ["*"], clusterScope: true };
  return [
    {
      apiVersion,
      kind: "PriorityLevelConfiguration",
      metadata: { name },
      spec: {
        type: "Limited",
        limited: { nominalConcurrencyShares, limitResponse: { type: "Queue", queuing } },
      },
    },
    {
      apiVersion,
      kind: "FlowSchema",
      metadata: { name },
      spec: {
        priorityLevelConfiguration: { name },
        matchingPrecedence,
        distinguisherMethod: { type: "ByUser" },
        rules: [
          {
            subjects: serviceAccounts.map((account) => ({
              kind: "ServiceAccount",
              serviceAccount: { namespace, name: account },
            })),
            resourceRules: [everything],
          },
        ],
      },
    },
  ];
}
