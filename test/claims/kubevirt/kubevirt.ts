// KubeVirt, played: what a user asks of it, and what virt-controller, virt-api and virt-handler then write, in the
// order in which the real ones were seen to. It knows nothing of claims and addresses.
//
// Promised: objects, names, labels, annotations, owner references, finalizers and the order of writes as observed. Not
// promised: times; admission (callers leave out what webhooks refuse); conditions that no reader of addresses uses.
import { until } from "../../lab/wait.ts";
import { dropFinalizer, edit, find, remove } from "./edit.ts";
import { Kubelet, type KubeletOptions } from "./kubelet.ts";
import { Machine, type MachineSpec } from "./machine.ts";
import { Migration, type MigrationOptions } from "./migration.ts";
import { controllerFinalizer, domainSpec, type Nic, ownedBy, type Vm, vmis, vms } from "./objects.ts";
import { beginInstance, endInstance, loneInstance, runInstance, setStatus, type Virt } from "./virt.ts";

export type Policy = "Background" | "Foreground" | "Orphan";

export interface KubevirtOptions extends KubeletOptions {
  readonly place: Virt["place"];
}

export class Kubevirt {
  readonly virt: Virt;

  /** With `kubelet`, nodes are somebody else's part. */
  constructor(options: KubevirtOptions | Virt) {
    const { client, place, pace } = options;
    this.virt = "kubelet" in options ? options : { client, place, pace, kubelet: new Kubelet(options) };
  }

  /**
   * observed: section 1, the VM and its finalizer just after. It is Halted. Section 7: where a VMI of that name runs
   * without an owner, the VM adopts it: give the machine that it was.
   */
  async create(spec: MachineSpec, orphan?: Machine): Promise<Machine> {
    const machine = orphan ?? new Machine(spec);
    const { client, pace } = this.virt;
    const vm = await client.create(vms, vmObject(spec, orphan?.instance === undefined ? "Halted" : "Always"));
    machine.vmUid = vm.metadata.uid ?? "";
    await pace("VM made");
    await edit(client, vms, machine.at, ({ metadata }) => {
      metadata.finalizers = [...(metadata.finalizers ?? []), controllerFinalizer];
    });
    if (orphan?.instance !== undefined) await this.#adopt(machine, vm);
    return machine;
  }

  /** observed: section 7. The pod is not touched: the UID above it changes. */
  async #adopt({ at, instance }: Machine, vm: Vm): Promise<void> {
    await edit(this.virt.client, vmis, at, ({ metadata }) => {
      if (metadata.uid !== instance?.uid) return false;
      metadata.ownerReferences = [ownedBy("VirtualMachine", vm)];
      return true;
    });
  }

  /** observed: section 7, VMI without VM. Resolves when it runs; `onMade` is told before. */
  async createAlone(spec: MachineSpec, onMade: (machine: Machine) => void = () => {}): Promise<Machine> {
    const machine = new Machine(spec);
    const { template } = vmObject(spec, "Always").spec;
    const instance = await beginInstance(this.virt, machine, loneInstance(machine, template));
    onMade(machine);
    await runInstance(this.virt, machine, instance);
    return machine;
  }

  /** observed: section 3, start: a new VMI and a new pod. Resolves when it runs; false where it was stopped before. */
  async start(machine: Machine): Promise<boolean> {
    await this.#strategy(machine, "Always");
    const instance = await beginInstance(this.virt, machine);
    return runInstance(this.virt, machine, instance);
  }

  /** observed: section 3. */
  async stop(machine: Machine): Promise<void> {
    await this.#strategy(machine, "Halted");
    await endInstance(this.virt, machine);
  }

  /** observed: section 7, virtctl restart: the spec stays; the new pod comes when the old one's object is gone. */
  async restart(machine: Machine): Promise<boolean> {
    return this.#again(machine, "Succeeded");
  }

  /** observed: section 7, guest crash: VMI Failed first, then as a restart. */
  async crash(machine: Machine): Promise<boolean> {
    await setStatus(this.virt, machine, { phase: "Failed" });
    return this.#again(machine, "Failed");
  }

  /** observed: section 7. Power-off of a VMI without a VM: both objects stay until somebody deletes the VMI. */
  async powerOff(machine: Machine): Promise<void> {
    const { instance } = machine;
    if (instance === undefined) return;
    await this.virt.kubelet.exit(instance.active);
    await setStatus(this.virt, machine, { phase: "Succeeded" });
  }

  /** observed: section 8, plain delete of the pod: the guest shuts down, VMI Succeeded, and with Always a new one. */
  async deletePod(machine: Machine): Promise<boolean> {
    const { instance } = machine;
    if (instance === undefined) return false;
    await this.virt.kubelet.finish(instance.active);
    return this.#again(machine, "Succeeded");
  }

  /** observed: section 7, forced delete: the new pod's ADDs come before the old sandbox's DELs, here on one node. */
  async forcePod(machine: Machine): Promise<boolean> {
    const { instance } = machine;
    if (instance === undefined) return false;
    const old = instance.active;
    await this.virt.kubelet.vanish(old);
    await setStatus(this.virt, machine, { phase: "Failed" });
    const isRunning = await this.#again(machine, "Failed");
    await this.virt.kubelet.bury(old);
    return isRunning;
  }

  async #again(machine: Machine, phase: "Succeeded" | "Failed"): Promise<boolean> {
    await endInstance(this.virt, machine, phase);
    const instance = await beginInstance(this.virt, machine);
    return runInstance(this.virt, machine, instance);
  }

  /**
   * observed: section 7. Background and foreground: virt-controller marks VMI and pods; pod, VMI, VM go in this order.
   * Orphan: garbage collection takes the reference from the VMI, which runs on. Without a VM the VMI is deleted.
   */
  async delete(machine: Machine, policy: Policy = "Background"): Promise<void> {
    const { client, pace } = this.virt;
    const { at, vmUid: uid } = machine;
    if (uid === undefined) return endInstance(this.virt, machine);
    await remove(client, vms, at, { uid, propagationPolicy: policy });
    await pace("VM deleting");
    if (policy === "Orphan") await this.#orphaned(machine);
    else await endInstance(this.virt, machine);
    await dropFinalizer(client, vms, { ...at, uid }, controllerFinalizer);
    await until(async () => (await find(client, vms, at))?.metadata.uid !== uid, {
      what: `VM ${at.name} to go`,
      everyMs: 10,
    });
    machine.vmUid = undefined;
  }

  async #orphaned({ at, instance }: Machine): Promise<void> {
    if (instance === undefined) return;
    const isFree = async () => {
      const vmi = await find(this.virt.client, vmis, at);
      return vmi === undefined || (vmi.metadata.ownerReferences ?? []).length === 0;
    };
    await until(isFree, { what: `VMI ${at.name} to be nobody's`, everyMs: 10 });
  }

  /** observed: section 4. Both pods are there: `handOver` runs the target, and then comes one of three ends. */
  migrate(machine: Machine, options: MigrationOptions = {}): Promise<Migration> {
    return Migration.begin(this.virt, machine, options);
  }

  /** observed: section 8, eviction: denied, the VMI says which node is to be left, and a migration is made for it. */
  async evict(machine: Machine): Promise<Migration> {
    const node = machine.instance?.active.node ?? "";
    await setStatus(this.virt, machine, { evacuationNodeName: node });
    return this.migrate(machine, { evacuates: node });
  }

  /** A snapshot that is put back in place: the spec of then, the same VM object. The VM is stopped. */
  async restore({ at }: Machine, nics: readonly Nic[]): Promise<void> {
    await edit(this.virt.client, vms, at, ({ spec }) => void (spec.template.spec = domainSpec(nics)));
  }

  /** A clone: another VM of the same template, without the MACs. */
  async clone({ at, namespace }: Machine, name: string): Promise<Machine> {
    const { spec } = await this.virt.client.get(vms, at);
    const nics = nicsOf(spec.template.spec).map(({ name: nic, definition }) => ({ name: nic, definition }));
    return this.create({ namespace, name, nics });
  }

  /** A VirtualMachinePool of so many: POOL-0, POOL-1, each with the template's networks. */
  async pool(spec: MachineSpec, replicas: number): Promise<Machine[]> {
    const made: Machine[] = [];
    for (let index = 0; index < replicas; index++) {
      const labels = { ...spec.labels, "kubevirt.io/vmpool": spec.name };
      made.push(await this.create({ ...spec, name: `${spec.name}-${index}`, labels }));
    }
    return made;
  }

  async #strategy({ at }: Machine, runStrategy: string): Promise<void> {
    await edit(this.virt.client, vms, at, ({ spec }) => {
      if (spec.runStrategy === runStrategy) return false;
      spec.runStrategy = runStrategy;
      return true;
    });
    await this.virt.pace("asked");
  }
}

export function nicsOf({ networks, domain }: Vm["spec"]["template"]["spec"]): Nic[] {
  return networks.flatMap(({ name, multus }) => {
    if (multus === undefined) return [];
    const { macAddress: mac, state } = domain.devices.interfaces.find((each) => each.name === name) ?? {};
    const absent = state === "absent";
    return [{ name, definition: multus.networkName, ...(mac !== undefined && { mac }), ...(absent && { absent }) }];
  });
}

function vmObject({ namespace, name, nics, labels = {}, annotations = {} }: MachineSpec, runStrategy: string): Vm {
  return {
    metadata: { namespace, name, labels },
    spec: { runStrategy, template: { metadata: { labels, annotations }, spec: domainSpec(nics) } },
  };
}
