// What the leader follows for managed DHCP: pools, network configs, VMs and their instances (kinds that a cluster may
// lack, or get later), trimmed to what is read, and the holds of NICs.
import {
  declinedAnnotation,
  keepAddressesAnnotation,
  macAnnotation,
  vmNetworkLabelName,
} from "../../api/vmnet/marks.ts";
import { OptionalInformer, type OptionalInformerOptions } from "../../cluster/optional-informer.ts";
import * as kinds from "../../cluster/resources.ts";
import { type DeepReadonly, keyOf, type KubeObject, picked } from "../../kube/meta.ts";
import { type Instance, type Machine, nicsOfMachine } from "../plan/machine-nics.ts";
import { type NetworkConfigReading, readNetworkConfig } from "../rules/read-network-config.ts";
import { type PoolReading, readPool } from "../rules/read-pool.ts";
import { FollowedHolds } from "./holds/followed-holds.ts";

export type CacheOptions = Pick<OptionalInformerOptions<KubeObject>, "client" | "clock" | "onError" | "retryMs"> & {
  readonly systemNamespace: string;
};

export type Pool = DeepReadonly<kinds.StoredManagedPool>;
export type Config = DeepReadonly<kinds.StoredNetworkConfig>;

export class VmnetCaches {
  readonly pools: OptionalInformer<kinds.StoredManagedPool>;
  readonly configs: OptionalInformer<kinds.StoredNetworkConfig>;
  readonly machines: OptionalInformer<Machine>;
  readonly instances: OptionalInformer<Instance>;
  readonly holds: FollowedHolds<kinds.StoredHold>;
  /** Readings of frozen objects. */
  readonly #pools = new WeakMap<Pool, PoolReading>();
  readonly #configs = new WeakMap<Config, NetworkConfigReading>();

  constructor({ systemNamespace, ...options }: CacheOptions) {
    this.pools = new OptionalInformer<kinds.StoredManagedPool>({
      ...options,
      resource: kinds.managedPools,
      asksFirst: true,
      indexes: { network: (pool) => [this.networkOf(pool)] },
    });
    this.configs = new OptionalInformer<kinds.StoredNetworkConfig>({
      ...options,
      resource: kinds.networkConfigs,
      asksFirst: true,
      packed: { repeats: repeatedFields },
      indexes: {
        uid: ({ metadata }) => [metadata.uid ?? ""],
        vm: (config) => [`${config.metadata.namespace}/${this.config(config).vmName}`],
        network: (config) => networksOf(this.config(config)),
      },
    });
    this.machines = new OptionalInformer<Machine>({
      ...options,
      resource: kinds.virtualMachines,
      transform: trimMachine,
      indexes: { network: (vm) => [...new Set(nicsOfMachine(vm, undefined).map(({ network }) => network))] },
    });
    this.instances = new OptionalInformer<Instance>({
      ...options,
      resource: kinds.virtualMachineInstances,
      transform: trimInstance,
    });
    this.holds = new FollowedHolds({
      ...options,
      resource: kinds.holds,
      scope: { namespace: systemNamespace, labelSelector: vmNetworkLabelName },
    });
  }

  /** Kinds that may come later. */
  get optional() {
    return [this.pools, this.configs, this.machines, this.instances] as const;
  }

  /** Every kind that is served has been listed. */
  get isKnown(): boolean {
    return this.optional.every((each) => each.isKnown);
  }

  pool(object: Pool): PoolReading {
    const known = this.#pools.get(object) ?? readPool(object);
    this.#pools.set(object, known);
    return known;
  }

  config(object: Config): NetworkConfigReading {
    const known = this.#configs.get(object) ?? readNetworkConfig(object);
    this.#configs.set(object, known);
    return known;
  }

  /** namespace/name of its definition, also where it cannot be read. */
  networkOf(pool: Pool): string {
    const written: unknown = pool.spec?.networkName;
    return this.pool(pool).plan?.network.key ?? (typeof written === "string" ? written : "");
  }

  /** By name, so that all look at them in one order. */
  poolsOf(network: string): readonly Pool[] {
    return this.pools.cache.byIndex("network", network).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }
}

export function networksOf({ nics }: NetworkConfigReading): string[] {
  return [...new Set(nics.flatMap(({ plan }) => plan?.network.key ?? []))];
}

const keptFields = ["name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "ownerReferences"] as const;
const keptAnnotations = [macAnnotation, keepAddressesAnnotation, declinedAnnotation] as const;

function trimMachine({ metadata, spec }: Machine): Machine {
  const { networks, domain } = spec?.template?.spec ?? {};
  const interfaces = listed(domain?.devices?.interfaces).map((each) => picked(each, "name", "macAddress", "state"));
  const ours = listed(networks).map((each) => picked(each, "name", "multus"));
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachine",
    metadata: { ...picked(metadata, ...keptFields), annotations: picked(metadata.annotations, ...keptAnnotations) },
    spec: { template: { spec: { networks: ours, domain: { devices: { interfaces } } } } },
  } as Machine;
}

function trimInstance({ metadata, status }: Instance): Instance {
  const interfaces = listed(status?.interfaces).map((each) => picked(each, "name", "mac"));
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    metadata: picked(metadata, ...keptFields),
    status: { interfaces },
  };
}

/** Odd objects of other writers must not stop a list. */
function listed<T extends { name?: string; multus?: unknown }>(value: readonly T[] | undefined): T[] {
  const all: unknown = value;
  if (!Array.isArray(all)) return [];
  return all.filter((each): each is T => {
    const { name, multus } = (each ?? {}) as { name?: unknown; multus?: { networkName?: unknown } };
    return typeof name === "string" && (multus === undefined || typeof multus?.networkName === "string");
  });
}

/** Of network configs, on any level: their texts are the same in very many of them. */
const repeatedFields = [
  "apiVersion",
  "kind",
  "namespace",
  "creationTimestamp",
  "finalizers",
  "networkName",
  "state",
  "type",
  "status",
  "reason",
  "lastTransitionTime",
  "lastUpdateTime",
] as const;
