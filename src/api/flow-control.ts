// Places of our own in the API server's fair queuing (flowcontrol.apiserver.k8s.io/v1).
//
// Without them a thousand daemons under one service account share the queues of every other workload, and a burst of new
// pods is answered 429. The controller has a place apart: in one with its daemons a burst of theirs keeps it from renewing its lease,
// and the leader is lost when it is needed most. Not promised: more than a share; the server's total concurrency is its operator's.

export interface FlowControlOptions {
  /** Where the service accounts live. */
  readonly namespace: string;
  readonly serviceAccounts: readonly string[];
}

const defaultFlowControl: FlowControlOptions = {
  namespace: "kube-system",
  serviceAccounts: ["holdfast-node", "holdfast-controller"],
};

/**
 * One account is one flow, and a flow is dealt `handSize` queues: 8 x 250 = 2,000 requests may wait, two for each of 1,000
 * daemons. More would wait longer than a client does: at 3 ms each on two cores these are 3 s; 6,400 were tried, timed out and
 * came again.
 */
const queuing = { queues: 64, handSize: 8, queueLengthLimit: 250 };

/** The lowest number wins: before kube-system-service-accounts (900), which ours would match too; behind the scheduler (800). */
const matchingPrecedence = 850;

/** Of about 245 that a stock cluster deals out (workload-low has 100, workload-high 40): all daemons as much as workload-high. */
const shares = { daemons: 40, controller: 20 } as const;

export function flowControlObjects({ namespace, serviceAccounts }: FlowControlOptions = defaultFlowControl) {
  const isController = (account: string) => account.endsWith("controller");
  const places = [
    { name: "holdfast", share: shares.daemons, accounts: serviceAccounts.filter((each) => !isController(each)) },
    { name: "holdfast-controller", share: shares.controller, accounts: serviceAccounts.filter(isController) },
  ];
  return places.filter(({ accounts }) => accounts.length > 0).flatMap((place) => placeObjects(place, namespace));
}

interface Place {
  readonly name: string;
  readonly share: number;
  readonly accounts: readonly string[];
}

function placeObjects({ name, share, accounts }: Place, namespace: string) {
  const apiVersion = "flowcontrol.apiserver.k8s.io/v1";
  const everything = { apiGroups: ["*"], resources: ["*"], verbs: ["*"], namespaces: ["*"], clusterScope: true };
  return [
    {
      apiVersion,
      kind: "PriorityLevelConfiguration",
      metadata: { name },
      spec: {
        type: "Limited",
        limited: { nominalConcurrencyShares: share, limitResponse: { type: "Queue", queuing } },
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
            subjects: accounts.map((account) => ({
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
