// Plays KubeVirt and kubelets on a model cluster. Each function is one write, as in reality: anything may come between.
import { hashedInterfaceName, type VmiSpec } from "../../../api/claims/kubevirt.ts";
import { type ModelCluster, namespace } from "./cluster.ts";
import { type ModelPod, type ModelVm, type ModelVmi, type PodNic, withMetadata } from "./objects.ts";

const virtFinalizer = "kubevirt.io/virtualMachineControllerFinalize";
const kubeletFinalizer = "kubelet";
export const pendingNode = "";

/** NIC -> definition. */
export type Nics = Readonly<Record<string, string>>;

export function specOf(nics: Nics, absent: readonly string[] = []): VmiSpec {
  const names = Object.keys(nics);
  return {
    networks: names.map((name) => ({ name, multus: { networkName: nics[name]! } })),
    domain: {
      devices: { interfaces: names.map((name) => ({ name, ...(absent.includes(name) && { state: "absent" }) })) },
    },
  };
}

export class Virt {
  readonly cluster: ModelCluster;
  /** VMs that are to run. */
  readonly running = new Set<string>();

  constructor(cluster: ModelCluster) {
    this.cluster = cluster;
  }

  createVm(name: string, nics: Nics, labels: Record<string, string> = {}): ModelVm | undefined {
    const metadata = { name, namespace, labels, finalizers: [virtFinalizer] };
    const vm = this.cluster.vms.create({ metadata, spec: { template: { spec: specOf(nics) } } });
    if (vm !== undefined) this.cluster.guests.set(vm.metadata.uid!, this.cluster.count("guest"));
    return vm;
  }

  /** A VMI without a VM. */
  createInstance(name: string, nics: Nics): ModelVmi | undefined {
    const vmi = this.cluster.vmis.create({
      metadata: { name, namespace, finalizers: [virtFinalizer] },
      spec: specOf(nics),
    });
    if (vmi !== undefined) this.cluster.guests.set(vmi.metadata.uid!, this.cluster.count("guest"));
    return vmi;
  }

  /** All that KubeVirt does by itself about one name, one write at a time. False: nothing is to be done. */
  step(name: string): boolean {
    const vm = this.cluster.vms.get(name);
    const vmi = this.cluster.vmis.get(name);
    if (vmi?.metadata.deletionTimestamp !== undefined) return this.#endInstance(vmi);
    if (vm !== undefined && this.#vmStep(vm, vmi)) return true;
    if (vmi !== undefined && this.#sync(vm, vmi)) return true;
    return vmi !== undefined && this.#launch(vmi);
  }

  #vmStep(vm: ModelVm, vmi: ModelVmi | undefined): boolean {
    const isMine = vmi?.metadata.ownerReferences?.some(({ uid }) => uid === vm.metadata.uid) === true;
    if (vm.metadata.deletionTimestamp !== undefined) return this.#endVm(vm, isMine ? vmi : undefined);
    const name = vm.metadata.name!;
    if (vmi === undefined) return this.running.has(name) && this.#start(vm);
    if (!isMine && (vmi.metadata.ownerReferences ?? []).length === 0) return this.#adopt(vm, vmi);
    return isMine && !this.running.has(name) && this.cluster.vmis.delete(vmi);
  }

  #endVm(vm: ModelVm, vmi: ModelVmi | undefined): boolean {
    if (vm.metadata.finalizers?.includes("orphan") === true)
      return this.cluster.vms.dropFinalizer(vm, virtFinalizer) && vm.metadata.finalizers.includes(virtFinalizer);
    if (vmi !== undefined) return vmi.metadata.deletionTimestamp === undefined && this.cluster.vmis.delete(vmi);
    if (!(vm.metadata.finalizers ?? []).includes(virtFinalizer)) return false;
    return this.cluster.vms.dropFinalizer(vm, virtFinalizer);
  }

  #start(vm: ModelVm): boolean {
    const { name, uid = "" } = vm.metadata;
    const reference = {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachine",
      name: name!,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    const spec = withoutAbsent(vm.spec?.template?.spec);
    const metadata = { name: name!, namespace, finalizers: [virtFinalizer], ownerReferences: [reference] };
    const status = { virtualMachineRevisionName: `revision-start-vm-${uid}-1` };
    const vmi = this.cluster.vmis.create({ metadata, spec, status });
    if (vmi !== undefined) this.cluster.guests.set(vmi.metadata.uid!, this.cluster.guests.get(uid)!);
    return vmi !== undefined;
  }

  /** The guest goes on: it is the new VM's. */
  #adopt(vm: ModelVm, vmi: ModelVmi): boolean {
    const { name = "", uid = "" } = vm.metadata;
    const reference = {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachine",
      name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    this.cluster.guests.set(uid, this.cluster.guests.get(vmi.metadata.uid!)!);
    this.running.add(name);
    return this.cluster.vmis.update(vmi, (now) => withMetadata(now, { ownerReferences: [reference] }));
  }

  #endInstance(vmi: ModelVmi): boolean {
    const pods = this.podsOf(vmi.metadata.uid);
    const next = pods.find(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (next !== undefined) return this.cluster.pods.delete(next);
    if (pods.length > 0 || vmi.metadata.finalizers?.includes(virtFinalizer) !== true) return false;
    return this.cluster.vmis.dropFinalizer(vmi, virtFinalizer);
  }

  /** Hot-plug in place, and unplug: the VM's template goes into the VMI, its networks into the pod's annotation. */
  #sync(vm: ModelVm | undefined, vmi: ModelVmi): boolean {
    const wanted = vm?.metadata.deletionTimestamp === undefined ? vm?.spec?.template?.spec : undefined;
    const isMine = vmi.metadata.ownerReferences?.some(({ uid }) => uid === vm?.metadata.uid) === true;
    if (isMine && wanted !== undefined && JSON.stringify(wanted) !== JSON.stringify(vmi.spec)) {
      return this.cluster.vmis.update(vmi, (now) => ({ ...now, spec: wanted }));
    }
    const present = nicsOf(vmi.spec);
    const pod = this.podsOf(vmi.metadata.uid).find((each) => !each.isOver && isSwappable(each, present));
    if (pod !== undefined) return this.cluster.pods.update(pod, (now) => ({ ...now, listed: present }));
    return this.#forget(vm, vmi);
  }

  /** What is detached leaves the VMI's spec, and then the VM's. */
  #forget(vm: ModelVm | undefined, vmi: ModelVmi): boolean {
    const absent = absentOf(vmi.spec);
    const shown = new Set(
      this.podsOf(vmi.metadata.uid)
        .filter(({ isOver }) => !isOver)
        .flatMap(({ status }) => status.map(({ nic }) => nic)),
    );
    if (absent.size === 0 || [...absent].some((nic) => shown.has(nic))) return false;
    if (vm !== undefined) {
      this.cluster.vms.update(vm, (now) => ({
        ...now,
        spec: { ...now.spec, template: { spec: withoutAbsent(now.spec?.template?.spec) } },
      }));
    }
    return this.cluster.vmis.update(vmi, (now) => ({ ...now, spec: withoutAbsent(now.spec) }));
  }

  #launch(vmi: ModelVmi): boolean {
    if (this.podsOf(vmi.metadata.uid).length > 0) return false;
    return this.launch(vmi) !== undefined;
  }

  /** A launcher; the second of a VMI is a migration's target. */
  launch(vmi: ModelVmi): ModelPod | undefined {
    const { name = "", uid = "" } = vmi.metadata;
    const reference = {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachineInstance",
      name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    return this.cluster.pods.create({
      metadata: {
        name: this.cluster.count(`virt-launcher-${name}`),
        namespace,
        annotations: { "kubevirt.io/domain": name },
        finalizers: [kubeletFinalizer],
        ownerReferences: [reference],
      },
      node: pendingNode,
      vmiUid: uid,
      isOver: false,
      listed: nicsOf(vmi.spec),
      initial: nicsOf(vmi.spec),
      status: [],
    });
  }

  podsOf(vmiUid: string | undefined): readonly ModelPod[] {
    return [...this.cluster.pods.objects.values()].filter((each) => each.vmiUid === vmiUid);
  }

  bind(pod: ModelPod, node: string): boolean {
    return pod.node === pendingNode && this.cluster.pods.update(pod, (now) => ({ ...now, node }));
  }

  /** The VMI runs in this pod from now on. */
  move(vmi: ModelVmi, pod: ModelPod): boolean {
    const status = { ...vmi.status, nodeName: pod.node };
    return this.cluster.vmis.update(vmi, (now) => ({ ...now, status }));
  }

  /** The kubelet of a node that can be reached ends what is deleted: the sandbox, then the phase, then the object. */
  kubelet(pod: ModelPod): boolean {
    const { cluster } = this;
    if (pod.metadata.deletionTimestamp === undefined) return false;
    if (pod.node !== pendingNode && cluster.nodes.get(pod.node) !== "ready") return false;
    const before = cluster.sandboxes.length;
    cluster.sandboxes = cluster.sandboxes.filter(({ podUid }) => podUid !== pod.metadata.uid);
    if (cluster.sandboxes.length < before) return true;
    if (!pod.isOver) return cluster.pods.update(pod, (now) => ({ ...now, isOver: true }));
    return cluster.pods.dropFinalizer(pod, kubeletFinalizer);
  }

  /** The guest is gone from the pod, which stays as an object: the source of a migration. */
  finish(pod: ModelPod): boolean {
    if (this.cluster.nodes.get(pod.node) !== "ready") return false;
    this.cluster.sandboxes = this.cluster.sandboxes.filter(({ podUid }) => podUid !== pod.metadata.uid);
    return this.cluster.pods.update(pod, (now) => ({ ...now, isOver: true }));
  }

  /** Grace 0: the object is gone at once; what runs of it is not. */
  forceDelete(pod: ModelPod): boolean {
    return this.cluster.pods.delete(pod) && this.cluster.pods.dropFinalizer(pod, kubeletFinalizer);
  }
}

function isSwappable({ listed }: ModelPod, present: readonly PodNic[]): boolean {
  const isSwapped = present.some((nic) =>
    listed.some((each) => each.nic === nic.nic && each.definition !== nic.definition),
  );
  const names = (nics: readonly PodNic[]): string =>
    nics
      .map(({ nic }) => nic)
      .toSorted()
      .join();
  return !isSwapped && names(present) !== names(listed);
}

export function nicsOf(spec: VmiSpec | undefined): readonly PodNic[] {
  const absent = absentOf(spec);
  return (spec?.networks ?? [])
    .filter(({ name }) => !absent.has(name))
    .map(({ name, multus }) => ({
      nic: name,
      interfaceName: hashedInterfaceName(name),
      definition: `${namespace}/${multus!.networkName}`,
    }));
}

function absentOf(spec: VmiSpec | undefined): ReadonlySet<string> {
  const interfaces = spec?.domain?.devices?.interfaces ?? [];
  return new Set(interfaces.filter(({ state }) => state === "absent").map(({ name }) => name));
}

function withoutAbsent(spec: VmiSpec | undefined): VmiSpec {
  const nics = nicsOf(spec);
  return specOf(Object.fromEntries(nics.map(({ nic, definition }) => [nic, definition.slice(namespace.length + 1)])));
}
