// What the objects of a pool's agents are called, and the marks by which they are found. Pure.
//
// Promised: two pools never share a name. A name without a hash is `<namespace>-<pool>-agent` of a namespace without a
// dash, so that its first dash ends the namespace; every other name ends in a hash of the two.
import { hashLabel } from "../../api/holds/owner-record.ts";
import { holdfastGroup } from "../../api/kind.ts";
import { agentLabelName, agentLabelValue, poolNameLabelName, poolNamespaceLabelName } from "../../api/vmnet/marks.ts";
import type { ObjectName } from "../../kube/meta.ts";

/** On a Deployment, its pods and its budget: namespace/name of the pool. Labels may be too short for it. */
export const agentOfAnnotation = `${holdfastGroup}/agent-of`;
/** On a Deployment and a budget: a hash of the spec that was written. Another: it is written again. */
export const agentSpecAnnotation = `${holdfastGroup}/agent-spec`;
/** On a pool: how many agents it has. */
export const agentReplicasAnnotation = `${holdfastGroup}/agent-replicas`;
export const agentAccount = "holdfast-agent";

/** A pod's name adds 17 characters, and ends at 63: so no pod's name is cut. */
const longestName = 63 - 17;
/** "-x" and 16 of the hash. */
const hashRoom = 18;
const longestLabel = 63;

export type PoolName = Required<ObjectName>;

export function agentName({ namespace, name }: PoolName): string {
  const whole = `${namespace}-${name}-agent`;
  if (whole.length <= longestName && /^[^-]+$/.test(namespace) && /^[a-z0-9-]+$/.test(name)) return whole;
  const room = longestName - hashRoom - "-agent".length;
  const start = `${namespace}-${name}`.replaceAll(".", "-").slice(0, room).replace(/-+$/, "");
  return `${start}-agent-x${hashLabel(`${namespace}/${name}`)}`;
}

/** What a Deployment selects its pods by: never changed, since the server lets nobody change it. */
export function agentSelector(pool: PoolName): Record<string, string> {
  return { "app.kubernetes.io/name": agentAccount, ...poolLabels(pool) };
}

export function agentLabels(pool: PoolName): Record<string, string> {
  return { ...agentSelector(pool), "app.kubernetes.io/part-of": "holdfast", [agentLabelName]: agentLabelValue };
}

function poolLabels({ namespace, name }: PoolName): Record<string, string> {
  const whole = name.length <= longestLabel;
  const start = name.slice(0, longestLabel - hashRoom).replace(/[-.]+$/, "");
  return {
    [poolNamespaceLabelName]: namespace,
    [poolNameLabelName]: whole ? name : `${start}-x${hashLabel(name)}`,
  };
}

/** The labels of a network whose pool this is; undefined: the name is longer than a label's value may be. */
export function networkLabels(pool: PoolName): Record<string, string> | undefined {
  return pool.name.length > longestLabel ? undefined : poolLabels(pool);
}
