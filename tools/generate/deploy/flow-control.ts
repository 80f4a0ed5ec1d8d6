// Places of our own in the API server's fair queuing (flowcontrol.apiserver.k8s.io/v1). Without them a thousand daemons
// under one service account share the queues of every other workload, and a burst of new pods is answered 429. The
// controller has a place apart: behind a burst of its daemons it could not renew its lease, and the leader would be
// lost when it is needed most. Not promised: more than a share; the server's total concurrency is its operator's.

/** The service accounts, and where they live. */
const defaultAccounts = { namespace: "kube-system", serviceAccounts: ["holdfast-node", "holdfast-controller"] };

/**
 * One account is one flow, and a flow is dealt `handSize` queues: 8 x 250 = 2,000 requests may wait, two for each of
 * 1,000 daemons. More would wait longer than a client does: these take 3 s at 3 ms each on two cores; 6,400 timed out.
 */
const queuing = { queues: 64, handSize: 8, queueLengthLimit: 250 };

/** The lowest wins: before kube-system-service-accounts (900), which ours match too; behind the scheduler (800). */
const matchingPrecedence = 850;

/** Of about 245 in a stock cluster (workload-low has 100, workload-high 40): all daemons as much as workload-high. */
const shares = { daemons: 40, controller: 20 } as const;

export function flowControlObjects({ namespace, serviceAccounts } = defaultAccounts) {
  const isController = (account: string) => account.endsWith("controller");
  const places = [
    { name: "holdfast", share: shares.daemons, accounts: serviceAccounts.filter((each) => !isController(each)) },
    { name: "holdfast-controller", share: shares.controller, accounts: serviceAccounts.filter(isController) },
  ];
  return places.filter(({ accounts }) => accounts.length > 0).flatMap((place) => placeObjects(place, namespace));
}

type Place = { readonly name: string; readonly share: number; readonly accounts: readonly string[] };

function placeObjects({ name, share, accounts }: Place, namespace: string) {
  const apiVersion = "flowcontrol.apiserver.k8s.io/v1";
  const limited = { nominalConcurrencyShares: share, limitResponse: { type: "Queue", queuing } };
  const subjects = accounts.map((each) => ({
    kind: "ServiceAccount",
    serviceAccount: { namespace, name: each },
  }));
  const everything = { apiGroups: ["*"], resources: ["*"], verbs: ["*"], namespaces: ["*"], clusterScope: true };
  return [
    { apiVersion, kind: "PriorityLevelConfiguration", metadata: { name }, spec: { type: "Limited", limited } },
    {
      apiVersion,
      kind: "FlowSchema",
      metadata: { name },
      spec: {
        priorityLevelConfiguration: { name },
        matchingPrecedence,
        distinguisherMethod: { type: "ByUser" },
        rules: [{ subjects, resourceRules: [everything] }],
      },
    },
  ];
}
