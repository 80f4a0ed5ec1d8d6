// Network attachment definitions, followed as soon as the cluster has the kind: it may get its multi-network plugin after us.
import type { Clock } from "../kube/clock.ts";
import type { KubeClient } from "../kube/rest.ts";
import { Followed } from "./followed.ts";
import { type NetworkAttachmentDefinition, networkAttachmentDefinitions } from "./resources.ts";

export interface FollowedDefinitionsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
}

export class FollowedDefinitions extends Followed<NetworkAttachmentDefinition> {
  constructor(options: FollowedDefinitionsOptions) {
    const indexes = {
      namespace: ({ metadata }: { readonly metadata: { readonly namespace?: string } }) => [metadata.namespace ?? ""],
    };
    super({ ...options, resource: networkAttachmentDefinitions, indexes });
  }
}
