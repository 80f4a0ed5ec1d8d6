// What the reconciler of agents follows beside what it is handed: Deployments and budgets of ours, and pods with the
// agents' label: ours, and those that Harvester's controller left. Trimmed to what is read.
import { agentLabelName, agentLabelValue, poolNameLabelName, poolNamespaceLabelName } from "../../api/vmnet/marks.ts";
import { Informer, type InformerOptions } from "../../kube/cache/informer.ts";
import { type DeepReadonly, type KubeObject, type ObjectKey, picked } from "../../kube/meta.ts";
import { agentOfAnnotation } from "./names.ts";
import {
  type AgentBudget,
  agentBudgets,
  type AgentDeployment,
  agentDeployments,
  type AgentPod,
  agentPods,
} from "./objects.ts";

type Options = Pick<InformerOptions<KubeObject>, "client" | "onError" | "clock"> & { readonly systemNamespace: string };

export class AgentCaches {
  readonly deployments: Informer<AgentDeployment>;
  readonly budgets: Informer<AgentBudget>;
  /** Of every namespace: Harvester's agents are in its own. */
  readonly pods: Informer<AgentPod>;

  constructor({ systemNamespace: namespace, ...options }: Options) {
    const labelSelector = `${agentLabelName}=${agentLabelValue}`;
    const scope = { namespace, labelSelector };
    const indexes = { pool: poolKeysOf };
    this.deployments = new Informer({ ...options, resource: agentDeployments, scope, indexes });
    this.budgets = new Informer({ ...options, resource: agentBudgets, scope, indexes });
    const transform = trimPod;
    this.pods = new Informer({ ...options, resource: agentPods, scope: { labelSelector }, indexes, transform });
  }

  get informers() {
    return [this.deployments, this.budgets, this.pods] as const;
  }
}

/** One, or none: by our mark, else by Harvester's labels. */
export function poolKeysOf({ metadata }: DeepReadonly<KubeObject>): readonly ObjectKey[] {
  const marked = metadata.annotations?.[agentOfAnnotation];
  if (marked !== undefined) return [marked];
  const { [poolNamespaceLabelName]: namespace, [poolNameLabelName]: name } = metadata.labels ?? {};
  return namespace === undefined || name === undefined ? [] : [`${namespace}/${name}`];
}

function trimPod({ metadata, spec, status, ...object }: AgentPod): AgentPod {
  const { annotations } = metadata;
  return {
    ...picked(object, "apiVersion", "kind"),
    metadata: {
      ...picked(metadata, "name", "namespace", "uid", "resourceVersion", "deletionTimestamp"),
      ...picked(metadata, "labels", "ownerReferences"),
      ...(annotations && { annotations: picked(annotations, agentOfAnnotation) }),
    },
    spec: {
      ...picked(spec, "nodeName"),
      containers: (spec?.containers ?? []).map((each) => picked(each, "name", "image") as { name: string }),
    },
    status: picked(status, "phase", "reason", "conditions", "containerStatuses"),
  };
}
