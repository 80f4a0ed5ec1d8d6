// One network config, brought up to date: plan, carry out, plan again, and write the status if it changed. Promised:
// two writes at most besides the holds (the finalizer, if it lacks it, and the status); a config that is being deleted
// is given nothing, and its end waits for nothing but a VMI that may run.
import { kubevirtOwner } from "../../api/claims/kubevirt.ts";
import { formatDomain } from "../../api/pools/domain.ts";
import { declinedAnnotation, keepAddressesAnnotation, networkConfigFinalizer } from "../../api/vmnet/marks.ts";
import * as kinds from "../../cluster/resources.ts";
import { isEqual } from "../../kube/conditions.ts";
import { isApiError } from "../../kube/errors.ts";
import { hasFinalizer, removeFinalizer } from "../../kube/finalizer.ts";
import { type DeepReadonly, keyOf, type ObjectKey } from "../../kube/meta.ts";
import { type ConfigPlan, planConfig } from "../plan/config-plan.ts";
import { statusOfConfig } from "../plan/config-status.ts";
import { type EndFacts, planEnd } from "../plan/ending.ts";
import { keptForMs, keptNote } from "../plan/keeping.ts";
import { type Instance, type Machine, nicsMark, nicsOfMachine } from "../plan/machine-nics.ts";
import type { NicHold } from "../plan/nic-hold.ts";
import type { ConfigFacts } from "../plan/nic-slot.ts";
import { describeIssue, describeNetworkConfig } from "../rules/issue.ts";
import { AllocationError, type Allocator } from "./allocation.ts";
import { type Config, networksOf, type VmnetCaches } from "./caches.ts";
import type { NicHolds } from "./holds/nic-holds.ts";
import { Latest } from "./latest.ts";
import type { Networks } from "./networks.ts";
import type { VmnetOptions } from "./options.ts";

export interface ConfigsOptions extends Pick<VmnetOptions, "client" | "clock" | "log" | "events" | "metrics"> {
  readonly caches: VmnetCaches;
  readonly holds: NicHolds;
  readonly networks: Networks;
  readonly allocator: Allocator;
  /** This network config has a NIC without an address in these networks: it is to be woken when something is free. */
  readonly onWaiting: (config: ObjectKey, networks: readonly string[]) => void;
}

/** Plans in a row: a pass and a take, a release, and one that finds nothing to do. */
const roundsMax = 4;
export class Configs {
  readonly #options: ConfigsOptions;
  readonly #latest = new Latest<kinds.StoredNetworkConfig>();

  constructor(options: ConfigsOptions) {
    this.#options = options;
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const cached = this.#options.caches.configs.cache.get(key);
    if (cached === undefined) return this.#latest.forget(key);
    const known = this.#latest.of(cached);
    if (known.metadata.deletionTimestamp !== undefined) return this.#end(known, signal);
    const config = hasFinalizer(known, networkConfigFinalizer) ? known : await this.#begin(known, signal);
    const { plan, networks } = await this.#settle(config, signal);
    const isPending = plan.nics.some(({ state }) => state === "Pending");
    this.#options.onWaiting(key, isPending || plan.isWaiting ? networks : []);
    // A pool that is not ready yet wakes it.
    if (!plan.isWaiting) await this.#show(config, plan, signal);
  }

  /** Before anything is held for it: its end is then seen. */
  async #begin(config: Config, signal: AbortSignal): Promise<Config> {
    const { uid, resourceVersion, finalizers = [] } = config.metadata;
    const body = { metadata: { uid, resourceVersion, finalizers: [...finalizers, networkConfigFinalizer] } };
    const at = placeOf(config);
    return this.#latest.wrote(
      await this.#options.client.patch(kinds.networkConfigs, at, { type: "merge", body }, { signal }),
    );
  }

  async #settle(config: Config, signal: AbortSignal): Promise<{ plan: ConfigPlan; networks: string[] }> {
    const { allocator, log } = this.#options;
    const refusals = new Map<string, string>();
    const reading = this.#options.caches.config(config);
    for (let round = 1; ; round++) {
      const plan = planConfig(this.#facts(config, refusals));
      const isDone = plan.passes.length + plan.takes.length + plan.releases.length === 0;
      if (isDone) return { plan, networks: networksOf(reading) };
      if (round > roundsMax) throw new AllocationError("changed", `${keyOf(config)} does not come to rest.`);
      for (const step of plan.passes) await allocator.pass(step, signal);
      for (const step of plan.takes) {
        const refusal = await allocator.take(step, signal);
        const mayHaveAnother = step.want.kind === "exactly" && step.want.orAny;
        if (refusal !== undefined && !mayHaveAnother) refusals.set(step.slot, refusal);
      }
      for (const { hold, why } of plan.releases) {
        const isReleased = await allocator.release(hold, signal);
        if (isReleased) log.info("released the address of a NIC", { ...aboutHold(hold), why });
      }
    }
  }

  #facts(config: Config, refusals: ReadonlyMap<string, string>): ConfigFacts {
    const { caches, holds, networks } = this.#options;
    const reading = caches.config(config);
    const { uid, namespace, name } = reading;
    const named = holds.ofName(reading.key);
    const isOwn = ({ owner }: NicHold) => owner.uid === uid;
    const nics = reading.nics.map(({ plan, issues, networkName, macAddress }) => {
      const barred = plan && networks.foreignFault(namespace, plan.network);
      if (plan !== undefined) return { ...plan, ...(barred !== undefined && { barred }) };
      const fault = issues.find(({ weight }) => weight === "error");
      const words =
        fault === undefined ? "it cannot be read." : describeIssue(describeNetworkConfig(config.metadata), fault);
      return { fault: words, networkName, macAddress };
    });
    const unclaimed = nics.flatMap((nic) =>
      "fault" in nic ? [] : holds.withMac(nic.network.domain, nic.mac).filter(({ owner }) => owner.uid === ""),
    );
    const left = new Map([...named.filter((each) => !isOwn(each)), ...unclaimed].map((each) => [placeKey(each), each]));
    const ownCooling = named.filter((each) => isOwn(each) && each.cooling !== undefined);
    return {
      uid,
      namespace,
      name,
      isPaused: reading.paused,
      nics,
      shown: shownOf(config),
      networks: new Map(networksOf(reading).map((key) => [key, networks.facts(key)])),
      own: named.filter((each) => isOwn(each) && each.cooling === undefined),
      left: [...left.values(), ...ownCooling],
      macHolder: (domain, mac) => holds.withMac(domain, mac).find((each) => !isOwn(each) && !left.has(placeKey(each))),
      refusals,
    };
  }

  async #show(config: Config, plan: ConfigPlan, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const status = statusOfConfig(config, plan, clock.wallMs());
    if (isEqual(config.status, status)) return;
    const object = { ...(config as kinds.StoredNetworkConfig), status };
    const written = await client.update(kinds.networkConfigs, object, { subresource: "status", signal });
    this.#latest.wrote(written);
    this.#tell(written, plan);
  }

  /** Told when the status says something new; the recorder counts what repeats. */
  #tell(config: kinds.StoredNetworkConfig, { nics }: ConfigPlan): void {
    const { events, caches } = this.#options;
    const vm = caches.machines.cache.get(`${config.metadata.namespace}/${config.spec.vmName}`);
    for (const { state, message = "", address, ipv6Address, macAddress, networkName } of nics) {
      if (state === "Unmanaged") continue;
      const isThere = state === "Allocated";
      const has = [address, ipv6Address].filter((each) => each !== undefined).join(" and ");
      const words = isThere
        ? `${macAddress} has ${has} in ${networkName}.`
        : `${macAddress} ${has === "" || config.spec.paused === true ? "has no address" : `has ${has}, and not all that it asks for`} in ${networkName}: ${message}`;
      events?.record(config, isThere ? "Normal" : "Warning", isThere ? "AddressAllocated" : "AddressPending", words);
      if (!isThere && vm !== undefined) events?.record(vm, "Warning", "AddressPending", words);
    }
  }

  async #end(config: Config, signal: AbortSignal): Promise<void> {
    const { client, holds, allocator, clock, log } = this.#options;
    const key = keyOf(config);
    this.#options.onWaiting(key, []);
    if (!hasFinalizer(config, networkConfigFinalizer)) return;
    const own = holds
      .ofName(key)
      .filter((each) => each.owner.uid === config.metadata.uid && each.cooling === undefined);
    const plan = planEnd(await this.#endFacts(config, own, signal));
    if (plan.kind === "wait") return; // the VMI's end wakes it
    if (plan.isDeclined) await this.#decline(config, signal);
    const forMs = keptForMs(config.metadata.annotations?.[keepAddressesAnnotation]);
    for (const hold of plan.keeps) {
      const note = keptNote(hold.note, config.spec.vmName, forMs, clock.wallMs());
      await allocator.note(hold, note, signal);
      log.info("keeps the address of a VM that is gone", aboutHold(hold));
    }
    for (const hold of plan.releases)
      if (await allocator.release(hold, signal)) log.info("released the address of a VM", aboutHold(hold));
    await dropFinalizer(() =>
      removeFinalizer(client, kinds.networkConfigs, config, networkConfigFinalizer, { signal }),
    );
  }

  async #endFacts(config: Config, own: readonly NicHold[], signal: AbortSignal): Promise<EndFacts> {
    const { caches } = this.#options;
    const { namespace = "", annotations, ownerReferences } = config.metadata;
    const owner = kubevirtOwner(ownerReferences, "VirtualMachine");
    const facts = { own, keptForMs: keptForMs(annotations?.[keepAddressesAnnotation]), heirs: new Set<string>() };
    if (owner === undefined) return { ...facts, vm: "none", isRunning: false };
    const vm = caches.machines.cache.get(`${namespace}/${owner.name}`);
    if (vm?.metadata.uid === owner.uid) {
      const isLeaving = vm.metadata.deletionTimestamp !== undefined;
      const isRunning = isLeaving && (await this.#isRunning(namespace, owner, signal));
      return { ...facts, vm: isLeaving ? "leaving" : "alive", isRunning };
    }
    const heirs = vm === undefined || vm.metadata.deletionTimestamp !== undefined ? facts.heirs : heirsOf(vm);
    return { ...facts, heirs, vm: "gone", isRunning: await this.#isRunning(namespace, owner, signal) };
  }

  /** By the cache first; that there is none is asked of the server. */
  async #isRunning(
    namespace: string,
    { name, uid }: { readonly name: string; readonly uid: string },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { caches, client } = this.#options;
    const isOf = (vmi: DeepReadonly<Instance> | undefined) =>
      vmi !== undefined && (kubevirtOwner(vmi.metadata.ownerReferences, "VirtualMachine")?.uid ?? uid) === uid;
    if (isOf(caches.instances.cache.get(`${namespace}/${name}`))) return true;
    return isOf(await client.lookUp(kinds.virtualMachineInstances, { namespace, name }, { signal }));
  }

  /** Guarded by the VM's UID: one of the same name that was made since has declined nothing. */
  async #decline(config: Config, signal: AbortSignal): Promise<void> {
    const { caches, client } = this.#options;
    const { namespace = "", ownerReferences } = config.metadata;
    const owner = kubevirtOwner(ownerReferences, "VirtualMachine");
    const vm = caches.machines.cache.get(`${namespace}/${owner?.name}`);
    if (vm === undefined || owner === undefined) return;
    const mark = nicsMark(vm);
    if (vm.metadata.annotations?.[declinedAnnotation] === mark) return;
    const body = { metadata: { uid: owner.uid, annotations: { [declinedAnnotation]: mark } } };
    await client.patch(kinds.virtualMachines, { namespace, name: owner.name }, { type: "merge", body }, { signal });
  }
}

/** The answer to a JSON patch whose tests fail: somebody else changed the finalizers. */
export async function dropFinalizer(drop: () => Promise<boolean>): Promise<void> {
  try {
    await drop();
  } catch (error) {
    if (!isApiError(error, "invalid")) throw error;
    throw new AllocationError("changed", "its finalizers have changed.", { cause: error });
  }
}

function heirsOf(vm: DeepReadonly<Machine>): Set<string> {
  const domainOf = (network: string) => {
    const [namespace = "", name = ""] = network.split("/");
    return formatDomain({ scope: "vm-network", namespace, name });
  };
  return new Set(nicsOfMachine(vm, undefined).map(({ network, mac = "" }) => `${domainOf(network)} ${mac}`));
}

/** A hold that is asked for again is another object. */
const placeKey = ({ domain, address }: NicHold): string => `${domain} ${address}`;

function shownOf({ status }: Config): ConfigFacts["shown"] {
  const shown: unknown = status?.networkConfigs;
  return Array.isArray(shown) ? shown.filter((each) => typeof each === "object" && each !== null) : [];
}

function placeOf({ metadata: { namespace = "", name = "" } }: Config) {
  return { namespace, name };
}

function aboutHold({ address, domain, owner }: NicHold) {
  return { address: address.toString(), domain, config: `${owner.namespace}/${owner.name}`, mac: owner.nic };
}
