// What the leader follows for managed DHCP: pools, network configs, VMs and their instances (kinds that a cluster may
// lack, or get later), and the holds of NICs, trimmed to what is read.
import { holdName } from "../../api/holds/hold-object.ts";
import { preconditionsOf } from "../../api/holds/version.ts";
import {
  declinedAnnotation,
  keepAddressesAnnotation,
  macAnnotation,
  vmNetworkLabelName,
} from "../../api/vmnet/marks.ts";
import { OptionalInformer, type OptionalInformerOptions } from "../../cluster/optional-informer.ts";
import * as kinds from "../../cluster/resources.ts";
import type { HoldNote } from "../../ipam/ledger.ts";
import { Informer } from "../../kube/cache/informer.ts";
import { type DeepReadonly, keyOf, type KubeObject, picked } from "../../kube/meta.ts";
import { type HeldObject, readHeld } from "../../ledger/reservation/list-holds.ts";
import { type Instance, type Machine, nicsOfMachine } from "../plan/machine-nics.ts";
import type { NicHold } from "../plan/nic-hold.ts";
import { type NetworkConfigReading, readNetworkConfig } from "../rules/read-network-config.ts";
import { type PoolReading, readPool } from "../rules/read-pool.ts";
import type { NicHolds } from "./nic-holds.ts";
import { versionNumber } from "./nic-holds.ts";

export type CacheOptions = Pick<OptionalInformerOptions<KubeObject>, "client" | "clock" | "onError" | "retryMs"> & {
  readonly systemNamespace: string;
};

/** A Hold of a VM network, as it is kept here. `held` is undefined where it cannot be read, or is no NIC's. */
interface FollowedHold extends KubeObject {
  held?: NicHold | undefined;
}

/** One that can be read: its metadata follow from the hold, and are made when asked for. 100,000 are 25 MB less so. */
class FollowedNic implements FollowedHold {
  readonly held: NicHold;
  readonly #namespace: string;

  constructor(held: NicHold, namespace: string) {
    this.held = held;
    this.#namespace = namespace;
  }

  /** As the server has it: what cannot be read, or is named otherwise, is no FollowedNic. */
  get metadata(): KubeObject["metadata"] {
    const { domain, address, version } = this.held;
    return { name: holdName(domain, address), namespace: this.#namespace, ...preconditionsOf(version) };
  }
}

export type Pool = DeepReadonly<kinds.StoredManagedPool>;
export type Config = DeepReadonly<kinds.StoredNetworkConfig>;

export class VmnetCaches {
  readonly pools: OptionalInformer<kinds.StoredManagedPool>;
  readonly configs: OptionalInformer<kinds.StoredNetworkConfig>;
  readonly machines: OptionalInformer<Machine>;
  readonly instances: OptionalInformer<Instance>;
  readonly holds: Informer<FollowedHold>;
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
    this.holds = new Informer<FollowedHold>({
      ...options,
      resource: kinds.holds,
      scope: { namespace: systemNamespace, labelSelector: vmNetworkLabelName },
      transform: trimHold(),
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

  /** Tells `holds` of everything that is followed, until the returned function is called. */
  followHolds(holds: NicHolds): () => void {
    return this.holds.handle(({ type, object }) => {
      const { held } = object as FollowedHold;
      if (held === undefined) return;
      holds.told(
        type === "delete" ? undefined : held,
        held,
        Number(object.metadata.resourceVersion ?? "0") || versionNumber(held.version),
      );
    });
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

/** Network configs that have several NICs: their UID and name are kept once. About 200 bytes each. */
const ownersMax = 20_000;

/** The same text once, however many holds say it. */
function trimHold(): (object: FollowedHold) => FollowedHold {
  const once = kept(Number.POSITIVE_INFINITY);
  const ofOwner = kept(2 * ownersMax);
  const notes = new Map<string, HoldNote>();
  const noteOf = (pool: string): HoldNote => {
    const note = notes.get(pool) ?? { pool };
    notes.set(pool, note);
    return note;
  };
  return (object) => {
    const [read] = readHeld(object as HeldObject);
    if (read === undefined || read.unreadable !== undefined || read.hold.owner.kind !== "nic")
      return { metadata: picked(object.metadata, "name", "namespace", "uid", "resourceVersion") };
    const { owner, note = {}, address, version, users } = read.hold;
    const { pool, keeper } = note;
    // Written out, not spread: V8 then keeps the fields in the object, which is 40 bytes less for each of the two.
    const held: NicHold = {
      domain: once(read.hold.domain),
      address,
      owner: {
        kind: "nic",
        uid: ofOwner(owner.uid),
        namespace: once(owner.namespace),
        name: ofOwner(owner.name),
        nic: owner.nic,
      },
      version,
      note: keeper === undefined && pool !== undefined ? noteOf(pool) : picked(note, "pool", "keeper", "vouched"),
      ...(users && { users }),
      ...(read.cooling && { cooling: read.cooling }),
    };
    return new FollowedNic(held, once(object.metadata.namespace ?? ""));
  };
}

/** Gives each text as it came first; what comes beyond the limit as it is. */
function kept(limit: number): (text: string) => string {
  const texts = new Map<string, string>();
  return (text) => {
    const known = texts.get(text);
    if (known === undefined && texts.size < limit) texts.set(text, text);
    return known ?? text;
  };
}
