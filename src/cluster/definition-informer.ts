// Network attachment definitions, followed as soon as the cluster has the kind: it may get its multi-network plugin after us.
import type { DeepReadonly } from "../kube/meta.ts";
import { OptionalInformer, type OptionalInformerOptions } from "./optional-informer.ts";
import { type NetworkAttachmentDefinition, networkAttachmentDefinitions } from "./resources.ts";

export class DefinitionInformer extends OptionalInformer<NetworkAttachmentDefinition> {
  constructor(options: Pick<OptionalInformerOptions<NetworkAttachmentDefinition>, "client" | "clock" | "onError">) {
    const namespace = ({ metadata }: DeepReadonly<NetworkAttachmentDefinition>) => [metadata.namespace ?? ""];
    super({ ...options, resource: networkAttachmentDefinitions, indexes: { namespace } });
  }
}
