// What the leader follows for claims: VMs, VMIs and claims (kinds that the cluster may get later), and namespaces.
// Definitions, pods, nodes, reservations and holds are followed elsewhere and handed in.
import { familyKeysOf } from "../../api/claims/claim-family.ts";
import * as marks from "../../api/claims/claim-marks.ts";
import * as kubevirt from "../../api/claims/kubevirt.ts";
import { OptionalInformer, type OptionalInformerOptions } from "../../cluster/optional-informer.ts";
import * as kinds from "../../cluster/resources.ts";
import { isObject } from "../../cni/json.ts";
import { Informer } from "../../kube/cache/informer.ts";
import { type DeepReadonly, type KubeObject, picked } from "../../kube/meta.ts";
import type { FamilyFacts } from "../plan/facts.ts";
import { claimLimit, claimsLeft, countIn } from "./quota.ts";

export type FollowOptions = Pick<OptionalInformerOptions<KubeObject>, "client" | "clock" | "onError" | "retryMs">;

export class ClaimCaches {
  readonly machines: OptionalInformer<Machine>;
  readonly instances: OptionalInformer<Instance>;
  readonly claims: OptionalInformer<kinds.StoredClaim>;
  readonly namespaces: Informer<KubeObject>;
  readonly #nowMs: () => number;
  /** Namespaces that were seen being deleted, and have not come back: a name each, for as long as this process runs. */
  readonly #deleted = new Set<string>();
  #ownersSince: number | "not yet" | undefined;

  constructor(options: FollowOptions) {
    this.#nowMs = () => options.clock.wallMs();
    this.machines = new OptionalInformer<Machine>({
      ...options,
      resource: kinds.virtualMachines,
      transform: trimMachine,
      indexes: { ...indexes, definition: (vm) => definitionsOf(vm.metadata.namespace, vm.spec?.template?.spec) },
    });
    this.instances = new OptionalInformer<Instance>({
      ...options,
      resource: kinds.virtualMachineInstances,
      transform: trimInstance,
      indexes: { ...indexes, definition: (vmi) => definitionsOf(vmi.metadata.namespace, vmi.spec) },
    });
    this.claims = new OptionalInformer<kinds.StoredClaim>({
      ...options,
      resource: kinds.ipamClaims,
      indexes: {
        ...indexes,
        family: familyKeysOf,
        owner: (claim) => ownerUidsOf(claim),
        network: ({ spec }) => [spec.network],
      },
    });
    this.namespaces = new Informer({ ...options, resource: kinds.namespaces, transform: trimNamespace });
    this.namespaces.handle((event) => {
      const { name = "", deletionTimestamp } = event.object.metadata;
      // A list without it is no word: the server may have been restored from a copy that is older than the namespace.
      const isDeleted = deletionTimestamp !== undefined || (event.type === "delete" && !event.missed);
      if (isDeleted) this.#deleted.add(name);
      else if (event.type !== "delete") this.#deleted.delete(name);
    });
  }

  /** Every kind that is served has been listed. */
  get isKnown(): boolean {
    return this.machines.isKnown && this.instances.isKnown && this.claims.isKnown;
  }

  /** Empty: as far as is known here the cluster has always had VMs and VMIs. */
  get ownersFacts(): Pick<FamilyFacts, "areOwnersUnknown" | "ownersSinceMs"> {
    const isListed = this.machines.isListed && this.instances.isListed;
    if (!isListed) this.#ownersSince = "not yet";
    else if (this.#ownersSince === "not yet") this.#ownersSince = this.#nowMs();
    if (this.#ownersSince === undefined) return {};
    return this.#ownersSince === "not yet" ? { areOwnersUnknown: true } : { ownersSinceMs: this.#ownersSince };
  }

  lives(namespace: string, uid: string): boolean {
    return this.familyOf(uid)?.startsWith(`${namespace}/`) === true;
  }

  /** The family of the VM or VMI with this UID; undefined: there is none. */
  familyOf(uid: string): string | undefined {
    const found = this.machines.cache.byIndex("uid", uid)[0] ?? this.instances.cache.byIndex("uid", uid)[0];
    return found === undefined ? undefined : `${found.metadata.namespace ?? ""}/${found.metadata.name ?? ""}`;
  }

  /** How many claims a namespace may still get; undefined: no limit. `making`: those not in the cache yet. */
  claimsLeft(namespace: string, making = 0): number | undefined {
    const limit = claimLimit(this.namespaces.cache.get(namespace)?.metadata.annotations);
    return claimsLeft(limit, this.claims.cache.byIndex("namespace", namespace).length + making);
  }

  isTerminating(namespace: string): boolean {
    return this.namespaces.cache.get(namespace)?.metadata.deletionTimestamp !== undefined;
  }

  /** Addresses freed at once: by an operator's word; all if seen deleted. Undefined: missing, or not restored yet. */
  massReleaseOf(namespace: string): number | undefined {
    if (this.#deleted.has(namespace)) return Number.POSITIVE_INFINITY;
    const found = this.namespaces.cache.get(namespace);
    return found && (countIn(found.metadata.annotations, marks.massReleaseAnnotation) ?? 0);
  }

  get isNobodyListed(): boolean {
    return this.machines.cache.size === 0 && this.instances.cache.size === 0;
  }
}

const indexes = {
  uid: ({ metadata }: DeepReadonly<KubeObject>) => [metadata.uid ?? ""],
  namespace: ({ metadata }: DeepReadonly<KubeObject>) => [metadata.namespace ?? ""],
};

/** One, or none. */
export function ownerUidsOf(claim: DeepReadonly<kinds.StoredClaim>): readonly string[] {
  const ownership = marks.ownershipOf(claim);
  return ownership.kind === "owned" ? [ownership.uid] : [];
}

function definitionsOf(namespace = "", spec: DeepReadonly<kubevirt.VmiSpec> = {}): readonly string[] {
  return [...new Set((spec.networks ?? []).flatMap((network) => kubevirt.definitionKeyOf(network, namespace) ?? []))];
}

function trimNamespace({ metadata, ...object }: KubeObject): KubeObject {
  const annotations = picked(metadata.annotations, marks.maxClaimsAnnotation, marks.massReleaseAnnotation);
  const kept = picked(metadata, "name", "uid", "resourceVersion", "deletionTimestamp");
  return { ...picked(object, "apiVersion", "kind"), metadata: { ...kept, annotations } };
}

export type Machine = kubevirt.VirtualMachine & KubeObject;
export type Instance = kubevirt.VirtualMachineInstance & KubeObject;

export function trimMachine({ metadata, spec }: Machine): Machine {
  const { template } = spec ?? {};
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachine",
    metadata: trimMetadata(metadata),
    spec: {
      ...picked(spec, "runStrategy", "running"),
      template: {
        ...(template?.metadata !== undefined && { metadata: marksOf(template.metadata) }),
        spec: trimSpec(template?.spec),
      },
    },
  };
}

export function trimInstance({ metadata, spec, status }: Instance): Instance {
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    metadata: trimMetadata(metadata),
    spec: trimSpec(spec),
    status: {
      ...picked(status, "phase", "nodeName", "activePods", "virtualMachineRevisionName"),
      interfaces: named(status?.interfaces).map(({ name, mac }) => ({
        ...(name !== undefined && { name }),
        ...(typeof mac === "string" && { mac }),
      })),
    },
  };
}

const keptFields = [
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "ownerReferences",
  "finalizers",
] as const;

function trimMetadata(metadata: KubeObject["metadata"]): KubeObject["metadata"] {
  return { ...picked(metadata, ...keptFields), ...marksOf(metadata) };
}

function marksOf({ labels, annotations }: Pick<kubevirt.KubevirtMetadata, "labels" | "annotations">) {
  return {
    labels: picked(labels, marks.persistenceLabelName),
    annotations: picked(annotations, marks.addressesAnnotation),
  };
}

/** Odd objects of other writers must not stop the list: networks and interfaces without a name are left out. */
function trimSpec(spec: kubevirt.VmiSpec | undefined): kubevirt.VmiSpec {
  const networks = named(spec?.networks).map(({ name, multus, pod }) => ({
    name,
    ...(isObject(multus) && { multus }),
    ...(isObject(pod) && { pod: {} }),
  }));
  const interfaces = named(spec?.domain?.devices?.interfaces).map(({ name, macAddress, state }) => ({
    name,
    ...(typeof macAddress === "string" && { macAddress }),
    ...(typeof state === "string" && { state }),
  }));
  return {
    ...(networks.length > 0 && { networks }),
    ...(interfaces.length > 0 && { domain: { devices: { interfaces } } }),
  };
}

function named<T extends { name?: string }>(listed: readonly T[] | undefined): T[] {
  const all: unknown = listed;
  if (!Array.isArray(all)) return [];
  return all.filter((each): each is T => isObject(each) && typeof each["name"] === "string");
}
