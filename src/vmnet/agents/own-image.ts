// The image that a controller runs, as its own pod says: what agents run where --agent-image names no other.
import type { KubeClient } from "../../kube/rest.ts";
import { agentPods } from "./objects.ts";

/** Undefined: there is no such pod; the process runs outside of the cluster. */
export async function ownImage(
  client: KubeClient,
  pod: { readonly namespace: string; readonly name: string },
  signal?: AbortSignal,
): Promise<string | undefined> {
  const found = await client.lookUp(agentPods, pod, { signal });
  const containers = found?.spec?.containers ?? [];
  return (containers.find(({ name }) => name === "controller") ?? containers[0])?.image;
}
