// What the webhooks read of the cluster. VMs, claims and namespaces come from the server each time: an old picture
// could refer a pod to another's claim, or refuse a delete that is due. Definitions come from the controller's cache; a
// missing one is asked for before it counts as missing.
import type { VirtualMachine, VirtualMachineInstance } from "../../api/claims/kubevirt.ts";
import { type ClaimsState, readClaimsState } from "../../cluster/claims-state.ts";
import * as kinds from "../../cluster/resources.ts";
import { fetchState } from "../../cluster/state.ts";
import { type Persistence, readPersistence } from "../../cni/config/persistence.ts";
import type { Requester } from "../../kube/admission/requester.ts";
import type { DeepReadonly, KubeObject } from "../../kube/meta.ts";
import { type Resource, defineResource } from "../../kube/resource.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { type NamespaceFacts, readNamespace } from "../leader/quota.ts";

export interface DefinitionFacts {
  readonly namespace: string;
  readonly name: string;
  readonly config: string;
  readonly persistence: Persistence;
}

export interface ClaimsViewOptions {
  readonly client: KubeClient;
  readonly systemNamespace: string;
  /** Undefined: not listed yet. */
  readonly definitions: () => readonly DeepReadonly<kinds.NetworkAttachmentDefinition>[] | undefined;
}

interface AccessReview extends KubeObject {
  spec: object;
  status?: { allowed?: boolean };
}

const accessReviews = defineResource<AccessReview>({
  group: "authorization.k8s.io",
  version: "v1",
  plural: "subjectaccessreviews",
  kind: "SubjectAccessReview",
  namespaced: false,
});

export class ClaimsView {
  readonly #options: ClaimsViewOptions;

  constructor(options: ClaimsViewOptions) {
    this.#options = options;
  }

  /** The gate, as the leader tells everybody. */
  async state(signal: AbortSignal): Promise<ClaimsState> {
    const { client, systemNamespace: namespace } = this.#options;
    return readClaimsState(await fetchState(client, { namespace, signal }));
  }

  readonly vm = this.#reader<VirtualMachine & KubeObject>(kinds.virtualMachines);
  readonly vmi = this.#reader<VirtualMachineInstance & KubeObject>(kinds.virtualMachineInstances);
  readonly claim = this.#reader(kinds.ipamClaims);
  readonly #definition = this.#reader(kinds.networkAttachmentDefinitions);

  namespace(name: string, signal: AbortSignal): Promise<NamespaceFacts> {
    return readNamespace(this.#options.client, name, signal);
  }

  /** Asked for only where a limit is set. */
  async countClaims(namespace: string, signal: AbortSignal): Promise<number> {
    let count = 0;
    const sink = { item: () => void (count += 1), restart: () => void (count = 0) };
    await this.#options.client.listEach(kinds.ipamClaims, { namespace, signal }, sink);
    return count;
  }

  /** As last seen; undefined: not listed yet. */
  definitions(): readonly DefinitionFacts[] | undefined {
    return this.#options.definitions()?.map(factsOf);
  }

  /** Undefined: there is none, also not on the server. */
  async definition(namespace: string, name: string, signal: AbortSignal): Promise<DefinitionFacts | undefined> {
    const known = this.definitions()?.find((each) => each.namespace === namespace && each.name === name);
    if (known !== undefined) return known;
    const found = await this.#definition(namespace, name, signal);
    return found === undefined ? undefined : factsOf(found);
  }

  /** From the server: before a claim is refused for a network that may have been made a moment ago. */
  async freshDefinitions(signal: AbortSignal): Promise<readonly DefinitionFacts[] | undefined> {
    const items = await this.#options.client.listServed(kinds.networkAttachmentDefinitions, { signal });
    return items?.map(factsOf); // undefined: the kind is not served, and nothing is known of networks
  }

  /** The right `override` on ipamclaims, which no role has unless somebody gave it, or gave all. */
  async mayOverride({ username, groups }: Requester, namespace: string, signal: AbortSignal): Promise<boolean> {
    const resourceAttributes = {
      verb: "override",
      group: kinds.ipamClaims.group,
      resource: kinds.ipamClaims.plural,
      namespace,
    };
    const spec = { user: username, groups, resourceAttributes };
    const { status } = await this.#options.client.create(accessReviews, { metadata: {}, spec }, { signal });
    return status?.allowed === true;
  }

  #reader<T extends KubeObject>(resource: Resource<T>) {
    return (namespace: string, name: string, signal: AbortSignal): Promise<T | undefined> =>
      this.#options.client.lookUp(resource, { namespace, name }, { signal });
  }
}

function factsOf(definition: DeepReadonly<kinds.NetworkAttachmentDefinition>): DefinitionFacts {
  const { namespace = "", name = "" } = definition.metadata;
  return { namespace, name, config: definition.spec?.config ?? "", persistence: readPersistence(definition) };
}
