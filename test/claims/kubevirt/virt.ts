// What all parts of the played KubeVirt share, and virt-controller's work on one VMI: it is made, run and ended here.
import type { KubeClient } from "../../../src/kube/rest.ts";
import { until } from "../../lab/wait.ts";
import { dropFinalizer, edit, find, remove } from "./edit.ts";
import type { NodePart } from "./kubelet.ts";
import { Launcher } from "./launcher.ts";
import type { Instance, Machine } from "./machine.ts";
import {
  controllerFinalizer,
  elementsOf,
  foregroundFinalizer,
  type LauncherOptions,
  launcherPod,
  nodeNameLabel,
  ownedBy,
  pods,
  type Vm,
  type Vmi,
  vmims,
  vmis,
  vms,
} from "./objects.ts";

export interface Virt {
  readonly client: KubeClient;
  readonly kubelet: NodePart;
  /** The scheduler: a node that is none of these. */
  readonly place: (machine: Machine, without: readonly string[]) => string;
  readonly pace: (moment: string) => Promise<void>;
  /** In place of what a launcher pod's spec has here: what a real node can run. */
  readonly podSpec?: Readonly<Record<string, unknown>>;
}

/** observed: section 1. VMI with both finalizers (one without a VM), the pod, Pending, Scheduling. No pod runs yet. */
export async function beginInstance(virt: Virt, machine: Machine, alone?: Vmi): Promise<Instance> {
  const { client, pace } = virt;
  const vmi = await client.create(vmis, alone ?? instanceOf(await client.get(vms, machine.at)));
  await pace("VMI made");
  const launcher = await makeLauncher(virt, machine, vmi, { scheme: machine.scheme });
  const instance: Instance = { uid: vmi.metadata.uid ?? "", launchers: [launcher], active: launcher, finished: [] };
  machine.instance = instance;
  await setStatus(virt, machine, { phase: "Scheduling", activePods: { [launcher.uid]: "" } });
  await pace("pod made");
  await virt.kubelet.bind(launcher, virt.place(machine, []));
  return instance;
}

function instanceOf(vm: Vm): Vmi {
  const { name = "", namespace = "", generation = 1 } = vm.metadata;
  const { metadata, spec } = vm.spec.template;
  return {
    metadata: {
      name,
      namespace,
      labels: { ...metadata.labels },
      annotations: { ...metadata.annotations, "kubevirt.io/vm-generation": String(generation) },
      finalizers: [controllerFinalizer, foregroundFinalizer],
      ownerReferences: [ownedBy("VirtualMachine", vm)],
    },
    spec: structuredClone(spec),
    status: {
      phase: "Pending",
      virtualMachineRevisionName: `revision-start-vm-${vm.metadata.uid}-${generation}`,
    },
  };
}

/** observed: section 7, VMI without VM: only the webhook's finalizer, no owner. */
export function loneInstance(machine: Machine, template: Vm["spec"]["template"]): Vmi {
  return {
    metadata: { ...machine.at, ...template.metadata, finalizers: [foregroundFinalizer] },
    spec: template.spec,
    status: { phase: "Pending" },
  };
}

export async function makeLauncher(
  virt: Virt,
  machine: Machine,
  vmi: Vmi,
  options: LauncherOptions,
): Promise<Launcher> {
  const pod = launcherPod(vmi, options);
  const { metadata } = await virt.client.create(pods, { ...pod, spec: { ...pod.spec, ...virt.podSpec } });
  const { name = "", uid = "" } = metadata;
  const { namespace } = machine;
  return new Launcher({ namespace, name, uid, vmiUid: vmi.metadata.uid ?? "", scheme: options.scheme });
}

/** observed: sections 1 and 2. The pod runs, the VMI is Scheduled with label and node at once; pod's label; Running. */
export async function runInstance(virt: Virt, machine: Machine, instance: Instance): Promise<boolean> {
  const launcher = instance.active;
  if (!(await virt.kubelet.run(launcher))) return false;
  await virt.pace("pod runs");
  await edit(virt.client, vmis, machine.at, (vmi) => {
    if (vmi.metadata.uid !== instance.uid || vmi.metadata.deletionTimestamp !== undefined) return false;
    vmi.metadata.labels = { ...vmi.metadata.labels, [nodeNameLabel]: launcher.node };
    const activePods = { [launcher.uid]: launcher.node };
    vmi.status = {
      ...vmi.status,
      phase: "Scheduled",
      nodeName: launcher.node,
      activePods,
      interfaces: reported(vmi, launcher),
    };
    return true;
  });
  await labelNode(virt, launcher, launcher.node);
  await setStatus(virt, machine, { phase: "Running" });
  return !launcher.ending.signal.aborted;
}

/** observed: section 2. A network that the pod's network-status does not show has no entry. */
export function reported({ spec }: Vmi, launcher: Launcher) {
  const elements = elementsOf(spec, launcher.namespace, launcher.scheme);
  const networks = spec.networks.filter(({ name, multus }) => {
    const port = spec.domain.devices.interfaces.find((each) => each.name === name);
    return multus !== undefined && port?.state !== "absent";
  });
  return networks.flatMap(({ name }, at) => {
    const podInterfaceName = elements[at]?.interface ?? "";
    return launcher.attached.has(podInterfaceName)
      ? [{ name, podInterfaceName, infoSource: "domain, multus-status" }]
      : [];
  });
}

/** observed: section 2. It names the node of the VMI, ~30 ms after the VMI's own. */
export async function labelNode(virt: Virt, { at, uid }: Launcher, node: string): Promise<void> {
  await edit(virt.client, pods, at, ({ metadata }) => {
    if (metadata.uid !== uid) return false;
    metadata.labels = { ...metadata.labels, [nodeNameLabel]: node };
    return true;
  });
}

export async function setStatus(
  virt: Virt,
  { at, instance }: Machine,
  status: NonNullable<Vmi["status"]>,
): Promise<void> {
  await edit(virt.client, vmis, at, (vmi) => {
    if (vmi.metadata.uid !== instance?.uid) return false;
    vmi.status = { ...vmi.status, ...status };
    return true;
  });
}

/**
 * observed: section 3. VMI deleted, all pods deleted at once (terminal ones go immediately), the guest is down, the
 * first finalizer falls while the pod is still there, pod, last finalizer, VMI; then its migrations.
 */
export async function endInstance(
  virt: Virt,
  machine: Machine,
  phase: "Succeeded" | "Failed" = "Succeeded",
): Promise<void> {
  const { client, kubelet, pace } = virt;
  const { instance } = machine;
  if (instance === undefined) return;
  await remove(client, vmis, machine.at, { uid: instance.uid, gracePeriodSeconds: 0 });
  await pace("VMI deleting");
  for (const launcher of instance.launchers) await askToEnd(virt, launcher);
  await pace("pods deleting");
  await setStatus(virt, machine, { phase });
  await dropFinalizer(client, vmis, { ...machine.at, uid: instance.uid }, controllerFinalizer);
  await pace("guest down");
  for (const launcher of instance.launchers) await kubelet.finish(launcher);
  await pace("pods gone");
  await dropFinalizer(client, vmis, { ...machine.at, uid: instance.uid }, foregroundFinalizer);
  await until(async () => (await find(client, vmis, machine.at))?.metadata.uid !== instance.uid, {
    what: `VMI ${machine.name} to go`,
    everyMs: 5,
  });
  machine.instance = undefined;
  for (const { name } of instance.finished) await remove(client, vmims, { namespace: machine.namespace, name });
}

async function askToEnd({ client }: Virt, launcher: Launcher): Promise<void> {
  const wasLive = launcher.isLive;
  launcher.ending.abort();
  const { at, uid } = launcher;
  await remove(client, pods, at, wasLive ? { uid, gracePeriodSeconds: 60 } : { uid, gracePeriodSeconds: 0 });
  if (!wasLive) launcher.phase = "Gone";
}
