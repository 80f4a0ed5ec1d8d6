// Claims (IPAMClaims) on networks with managed DHCP: their status shows what the VM's NIC has, as
// src/vmnet/plan/claim-mirror.ts says. The claims themselves are followed, marked and ended by src/claims. Promised: a
// network in which another IPAM gives addresses to claims is left to it.
import { kubevirtOwner } from "../../api/claims/kubevirt.ts";
import type { DefinitionInformer } from "../../cluster/definition-informer.ts";
import { ipamClaims, type NetworkAttachmentDefinition, type StoredClaim } from "../../cluster/resources.ts";
import { updateStatus } from "../../kube/conditions.ts";
import { type DeepReadonly, keyOf, type ObjectKey, parseKey } from "../../kube/meta.ts";
import { statusOfClaim } from "../plan/claim-mirror.ts";
import { type MachineNic, nicsOfMachine } from "../plan/machine-nics.ts";
import type { NicHold } from "../plan/nic-hold.ts";
import { networkNameIn, otherGivers } from "../rules/definition.ts";
import { networkRef } from "../rules/network-ref.ts";
import type { VmnetCaches } from "./caches.ts";
import type { NicHolds } from "./holds/nic-holds.ts";
import type { Networks } from "./networks.ts";
import type { VmnetOptions } from "./options.ts";

type Definition = DeepReadonly<NetworkAttachmentDefinition>;
type Claim = DeepReadonly<StoredClaim>;
export interface ClaimsOptions extends Pick<VmnetOptions, "client" | "clock" | "log" | "claims"> {
  readonly definitions: DefinitionInformer;
  readonly caches: VmnetCaches;
  readonly holds: NicHolds;
  readonly networks: Networks;
}

export class Claims {
  readonly #options: ClaimsOptions;
  /** By the name in the CNI configuration; undefined: a definition has changed since. */
  #byName: ReadonlyMap<string, readonly Definition[]> | undefined;

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  definitionChanged(): void {
    this.#byName = undefined;
  }

  /** Of this VM, or of a network config of this name. */
  ofMachine(key: ObjectKey): ObjectKey[] {
    return this.#keysOf("family", key);
  }

  /** `network`: namespace/name of the definition. */
  ofNetwork(network: ObjectKey): ObjectKey[] {
    const name = this.#nameOf(network);
    return name === "" ? [] : this.#keysOf("network", name);
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#options;
    const claim = this.#options.claims?.cache.get(key);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
    const networks = this.#meantBy(claim);
    if (networks.length === 0) return;
    const status = statusOfClaim({
      claim,
      networks,
      vm: this.#machineOf(claim),
      holdsOf: (nic) => this.#holdsOf(claim, nic),
      pools: networks.flatMap((network) => this.#options.networks.facts(network).pools.map(({ plan }) => plan)),
      nowMs: clock.wallMs(),
    });
    const isWritten = await updateStatus(client, ipamClaims, claim as StoredClaim, status, { signal });
    if (isWritten) log.info("showed a claim what its NIC has by managed DHCP", { claim: key, ips: status.ips });
  }

  /** The nearest of its name: of the claim's namespace, else of an administrator's. None: not ours to speak of. */
  #meantBy({ metadata: { namespace = "" }, spec }: Claim): string[] {
    const { networks } = this.#options;
    const name: unknown = (spec as Partial<StoredClaim["spec"]> | undefined)?.network;
    if (typeof name !== "string" || name === "") return [];
    const meant = (this.#named().get(name) ?? []).filter(({ metadata }) => {
      const network = networkRef(metadata.namespace ?? "", metadata.name ?? "");
      return networks.foreignFault(namespace, network) === undefined;
    });
    const own = meant.filter(({ metadata }) => metadata.namespace === namespace);
    const nearest = own.length > 0 ? own : meant;
    const isGivenElsewhere = nearest.some((each) => {
      const network = networkRef(each.metadata.namespace ?? "", each.metadata.name ?? "");
      return otherGivers({ config: each.spec?.config ?? "" }, network).length > 0;
    });
    return isGivenElsewhere ? [] : nearest.map((each) => keyOf(each)).filter((key) => networks.isManaged(key));
  }

  #named(): ReadonlyMap<string, readonly Definition[]> {
    const all = () => [...this.#options.definitions.cache.list()];
    this.#byName ??= Map.groupBy(all(), ({ spec }) => networkNameIn({ config: spec?.config ?? "" }));
    return this.#byName;
  }

  #machineOf({ metadata }: Claim): { name: string; nics: readonly MachineNic[] } | undefined {
    const { machines, instances } = this.#options.caches;
    const owner = kubevirtOwner(metadata.ownerReferences, "VirtualMachine", "VirtualMachineInstance");
    const key = `${metadata.namespace}/${owner?.name ?? ""}`;
    const [vm, vmi] = [machines.cache.get(key), instances.cache.get(key)];
    if (vm === undefined || ![vm.metadata.uid, vmi?.metadata.uid].includes(owner?.uid)) return undefined;
    return { name: vm.metadata.name ?? "", nics: nicsOfMachine(vm, vmi) };
  }

  #holdsOf({ metadata }: Claim, { network, mac }: MachineNic): readonly NicHold[] {
    const { caches, holds } = this.#options;
    if (mac === undefined) return [];
    const { namespace = "", name } = parseKey(network);
    const vm = kubevirtOwner(metadata.ownerReferences, "VirtualMachine", "VirtualMachineInstance")?.name;
    const isIts = ({ owner }: NicHold) => {
      const [config] = caches.configs.cache.byIndex("uid", owner.uid);
      return config !== undefined && owner.namespace === metadata.namespace && caches.config(config).vmName === vm;
    };
    return holds.withMac(networkRef(namespace, name).domain, mac).filter(isIts);
  }

  #nameOf(network: ObjectKey): string {
    const config = this.#options.definitions.cache.get(network)?.spec?.config;
    return config === undefined ? "" : networkNameIn({ config });
  }

  #keysOf(index: "family" | "network", value: string): ObjectKey[] {
    return (this.#options.claims?.cache.byIndex(index, value) ?? []).map((each) => keyOf(each));
  }
}
