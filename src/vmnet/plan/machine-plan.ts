// What becomes of a VM's network config: made, brought up to date, or left alone. Pure: the VM, its VMI and the configs
// that name it in, one step out. An update is a merge of three: what the VM had when it was last looked at (a record on
// the config), what it has now, and what stands in the config. Only what came from the VM goes with the VM's NICs: an
// entry, an ipAddress or an ipv6Address that somebody wrote stays.
import { kubevirtOwner } from "../../api/claims/kubevirt.ts";
import * as marks from "../../api/vmnet/marks.ts";
import type { NicRequest } from "../../api/vmnet/network-config.ts";
import type { StoredNetworkConfig } from "../../cluster/resources.ts";
import { isEqual } from "../../kube/conditions.ts";
import type { DeepReadonly, OwnerReference } from "../../kube/meta.ts";
import type { Mac } from "../../net/mac.ts";
import { type Instance, type Machine, type MachineNic, nicsMark, nicsOfMachine, readMac } from "./machine-nics.ts";

type Config = DeepReadonly<StoredNetworkConfig>;
type Entry = DeepReadonly<NicRequest>;

export interface MachineFacts {
  readonly vm: DeepReadonly<Machine>;
  /** Of the same name; undefined: it does not run. */
  readonly vmi: DeepReadonly<Instance> | undefined;
  /** All of its namespace that have its name, or that name it in spec.vmName. */
  readonly configs: readonly Config[];
  /** The network has a managed pool. */
  readonly isManaged: (network: string) => boolean;
}

export type MachineStep =
  | { readonly kind: "none"; readonly why: string }
  | { readonly kind: "create"; readonly config: StoredNetworkConfig }
  /** The whole object, guarded by its resourceVersion. */
  | { readonly kind: "update"; readonly config: StoredNetworkConfig };

/** A label's value has at most 63 characters; the owner reference says the name in full. */
const longestLabel = 63;

export function planMachine({ vm, vmi, configs, isManaged }: MachineFacts): MachineStep {
  if (vm.metadata.deletionTimestamp !== undefined) return none("it is being deleted");
  const all = nicsOfMachine(vm, isInstanceOf(vmi, vm) ? vmi : undefined);
  const target = targetOf(vm, configs);
  if (target?.metadata.deletionTimestamp !== undefined) return none("its network config is being deleted");
  const elsewhere = configs.filter((each) => each !== target && each.metadata.deletionTimestamp === undefined);
  const taken = new Set(elsewhere.flatMap(entriesOf).map(identityOf));
  const record = recordOf(target);
  const nics = all.map((nic) => ({ ...nic, mac: nic.mac ?? recordedMac(record, nic) }));
  const known = nics.filter((nic): nic is KnownNic => nic.mac !== undefined && !taken.has(`${nic.network} ${nic.mac}`));
  if (target === undefined) return planNew(vm, known, isManaged);
  const unknown = new Set(nics.filter(({ mac }) => mac === undefined).map(({ network }) => network));
  const entries = merge(entriesOf(target), known, record ?? inferredRecord(target, unknown));
  const config = updated(target, vm, entries, known);
  return isEqual(config, target) ? none("its network config is as it should be") : { kind: "update", config };
}

interface KnownNic extends MachineNic {
  readonly mac: Mac;
}

function planNew(
  vm: DeepReadonly<Machine>,
  nics: readonly KnownNic[],
  isManaged: MachineFacts["isManaged"],
): MachineStep {
  const { namespace = "", name = "", annotations } = vm.metadata;
  if (!nics.some(({ network }) => isManaged(network))) return none("none of its NICs is on a network with a pool");
  if (annotations?.[marks.declinedAnnotation] === nicsMark(vm)) return none("its network config was deleted by hand");
  const bare = { metadata: { namespace, name }, spec: { vmName: name } };
  return { kind: "create", config: updated(bare, vm, nics.map(entryOf), nics) };
}

/** Entries as they were written, under today's name or the former. */
export function entriesOf({ spec }: Config): readonly Entry[] {
  const written: unknown = spec.networkConfigs ?? spec.networkConfig ?? [];
  return Array.isArray(written) ? written.filter((each) => typeof each === "object" && each !== null) : [];
}

/** That of the VM's own name, else the first that names it. */
function targetOf({ metadata }: DeepReadonly<Machine>, configs: readonly Config[]): Config | undefined {
  const ordered = configs.toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  return ordered.find((each) => each.metadata.name === metadata.name) ?? ordered[0];
}

function merge(before: readonly Entry[], nics: readonly KnownNic[], record: ReadonlyMap<string, string>): Entry[] {
  const now = new Set(nics.map(identityOfNic));
  const used = new Set<Entry>();
  const use = (entry: Entry | undefined) => {
    if (entry !== undefined) used.add(entry);
    return entry;
  };
  const find = (identity: string) => use(before.find((each) => !used.has(each) && identityOf(each) === identity));
  const ofVm = nics.map((nic): Entry => {
    const same = find(identityOfNic(nic));
    if (same !== undefined) return same;
    const former = record.get(nic.name) ?? "";
    const isSameNetwork = former.startsWith(`${nic.network} `) && !now.has(former);
    const replaced = isSameNetwork ? find(former) : undefined;
    return replaced === undefined ? entryOf(nic) : { ...replaced, macAddress: nic.mac };
  });
  const recorded = new Set(record.values());
  const others = before.filter((each) => !used.has(each) && !recorded.has(identityOf(each)));
  return [...ofVm, ...others];
}

/** A config that Harvester's controller made has no record: what it wrote has no ipAddress. */
function inferredRecord(config: Config, unknown: ReadonlySet<string>): ReadonlyMap<string, string> {
  if (kubevirtOwner(config.metadata.ownerReferences, "VirtualMachine") === undefined) return new Map();
  const written = entriesOf(config).filter(
    ({ ipAddress = "", ipv6Address = "", networkName }) =>
      ipAddress === "" && ipv6Address === "" && !unknown.has(networkName),
  );
  return new Map(written.map((each, index) => [`#${index}`, identityOf(each)]));
}

function updated(before: Config, vm: DeepReadonly<Machine>, entries: readonly Entry[], nics: readonly KnownNic[]) {
  const { metadata, spec } = before as StoredNetworkConfig;
  const { name = "", annotations } = vm.metadata;
  const { networkConfig: _, ...rest } = spec;
  const record = Object.fromEntries(nics.map((nic) => [nic.name, identityOfNic(nic)]));
  const keep = annotations?.[marks.keepAddressesAnnotation];
  const finalizers = metadata.finalizers ?? [];
  const isFinal = finalizers.includes(marks.networkConfigFinalizer);
  return {
    ...before,
    metadata: {
      ...metadata,
      // A server stores no empty map: one that is written is missing at the next look.
      ...(name.length <= longestLabel && { labels: { ...metadata.labels, [marks.vmNameLabelName]: name } }),
      annotations: {
        ...metadata.annotations,
        [marks.recordAnnotation]: JSON.stringify(record),
        ...(keep !== undefined && { [marks.keepAddressesAnnotation]: keep }),
      },
      finalizers: isFinal ? finalizers : [...finalizers, marks.networkConfigFinalizer],
      ownerReferences: ownersWith(metadata.ownerReferences, vm),
    },
    spec: { ...rest, networkConfigs: [...entries] as NicRequest[] },
  } as StoredNetworkConfig;
}

/** A reference to a former VM of this name would have the config collected with it. */
function ownersWith(owners: readonly OwnerReference[] = [], { metadata }: DeepReadonly<Machine>): OwnerReference[] {
  const { name = "", uid = "" } = metadata;
  if (owners.some((each) => each.uid === uid)) return [...owners];
  const others = owners.filter((each) => kubevirtOwner([each], "VirtualMachine")?.name !== name);
  return [...others, { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid }];
}

function recordOf(config: Config | undefined): ReadonlyMap<string, string> | undefined {
  const text = config?.metadata.annotations?.[marks.recordAnnotation];
  if (text === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== "object" || parsed === null) return undefined;
    return new Map(Object.entries(parsed).filter((each): each is [string, string] => typeof each[1] === "string"));
  } catch {
    return undefined;
  }
}

/** A stopped VM whose MAC KubeVirt made up keeps the one that it had. */
function recordedMac(record: ReadonlyMap<string, string> | undefined, { name, network }: MachineNic): Mac | undefined {
  const former = record?.get(name) ?? "";
  return former.startsWith(`${network} `) ? readMac(former.slice(network.length + 1)) : undefined;
}

/** Of a VMI that another VM of the same name left behind, nothing is believed. */
function isInstanceOf(vmi: DeepReadonly<Instance> | undefined, vm: DeepReadonly<Machine>): boolean {
  if (vmi === undefined) return false;
  const owner = kubevirtOwner(vmi.metadata.ownerReferences, "VirtualMachine");
  return owner === undefined || owner.uid === vm.metadata.uid;
}

const entryOf = ({ network, mac }: KnownNic): Entry => ({ networkName: network, macAddress: mac });
const identityOfNic = ({ network, mac }: KnownNic): string => `${network} ${mac}`;

function identityOf({ networkName, macAddress }: Entry): string {
  return `${networkName} ${readMac(macAddress) ?? macAddress}`;
}

function none(why: string): MachineStep {
  return { kind: "none", why };
}
