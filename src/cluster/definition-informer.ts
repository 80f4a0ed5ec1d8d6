// Network attachment definitions, followed once the cluster has the kind: its multi-network plugin may come after us.
import type { DeepReadonly } from "../kube/meta.ts";
import { OptionalInformer, type OptionalInformerOptions } from "./optional-informer.ts";
import { type NetworkAttachmentDefinition, networkAttachmentDefinitions } from "./resources.ts";

export class DefinitionInformer extends OptionalInformer<NetworkAttachmentDefinition> {
  constructor(options: Pick<OptionalInformerOptions<NetworkAttachmentDefinition>, "client" | "clock" | "onError">) {
    const namespace = ({ metadata }: DeepReadonly<NetworkAttachmentDefinition>) => [metadata.namespace ?? ""];
    super({ ...options, resource: networkAttachmentDefinitions, indexes: { namespace } });
  }
}
