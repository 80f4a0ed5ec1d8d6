// Network attachment definitions, followed as soon as the cluster has the kind: it may get its multi-network plugin after us.
import { Followed, type FollowedOptions } from "./optional-informer.ts";
import { type NetworkAttachmentDefinition, networkAttachmentDefinitions } from "./resources.ts";

export class FollowedDefinitions extends Followed<NetworkAttachmentDefinition> {
  constructor(options: Pick<FollowedOptions<NetworkAttachmentDefinition>, "client" | "clock" | "onError">) {
    const indexes = {
      namespace: ({ metadata }: { readonly metadata: { readonly namespace?: string } }) => [metadata.namespace ?? ""],
    };
    super({ ...options, resource: networkAttachmentDefinitions, indexes });
  }
}
