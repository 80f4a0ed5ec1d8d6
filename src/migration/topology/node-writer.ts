// Annotations of Nodes: the number and the subnets of a node, as they are assigned. Guarded by the version that was
// read: a Node that somebody else has changed is looked at again.
import { type Node, nodes } from "../../cluster/resources.ts";
import { isApiError } from "../../kube/errors.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { nodeSubnetsAnnotation, writeNodeSubnets } from "../objects/node-subnets.ts";
import type { Telling } from "./assignments.ts";
import { nodeIdAnnotation } from "./node-facts.ts";

/** False: the Node has changed or gone meanwhile. */
export async function tellNode(
  client: KubeClient,
  node: DeepReadonly<Node>,
  { id, subnets }: Telling,
  signal: AbortSignal,
): Promise<boolean> {
  const { name = "", uid, resourceVersion, annotations: before } = node.metadata;
  const annotations = {
    ...(id !== undefined && { [nodeIdAnnotation]: String(id) }),
    ...(subnets !== undefined && {
      [nodeSubnetsAnnotation]: writeNodeSubnets(before?.[nodeSubnetsAnnotation], subnets),
    }),
  };
  const body = { metadata: { uid, resourceVersion, annotations } };
  try {
    await client.patch(nodes, { name }, { type: "merge", body }, { signal });
    return true;
  } catch (error) {
    if (isApiError(error, "conflict", "not-found", "invalid")) return false;
    throw error;
  }
}
