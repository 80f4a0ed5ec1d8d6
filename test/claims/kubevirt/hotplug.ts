// NICs that come, go and change their network while the VM runs.
import { edit } from "./edit.ts";
import type { Kubevirt } from "./kubevirt.ts";
import type { Launcher } from "./launcher.ts";
import type { Machine } from "./machine.ts";
import type { Migration } from "./migration.ts";
import {
  type DomainSpec,
  type Element,
  elementsOf,
  interfaceOf,
  networkOf,
  networksAnnotation,
  type Nic,
  pods,
  type Vmi,
  vmis,
  vms,
} from "./objects.ts";
import { reported, type Virt } from "./virt.ts";

/** How a running pod's interfaces change: by a controller of dynamic networks, or by migration to another pod. */
export type Way = "in place" | "by migration";

/** observed: section 6, plug: VM, then VMI, then the running pod's annotation: the whole list, the new entry last. */
export async function plug(kubevirt: Kubevirt, machine: Machine, nic: Nic, way: Way): Promise<Migration | undefined> {
  const { virt } = kubevirt;
  const add = (spec: DomainSpec) => {
    spec.networks.push(networkOf(nic));
    spec.domain.devices.interfaces.push(interfaceOf(nic));
  };
  await onBoth(virt, machine, add);
  return attach(kubevirt, machine, way);
}

/** The VMI has it; the running pod does not. */
async function attach(kubevirt: Kubevirt, machine: Machine, way: Way): Promise<Migration | undefined> {
  const { virt } = kubevirt;
  if (machine.instance === undefined) return undefined;
  const launcher = machine.instance.active;
  const elements = await rewriteSelection(virt, machine, launcher);
  await virt.pace("plug asked");
  if (way === "by migration") return kubevirt.migrate(machine, { isWorkloadUpdate: true });
  const added = elements.at(-1);
  if (added !== undefined && (await virt.kubelet.plug(launcher, added))) await report(virt, machine, launcher);
  return undefined;
}

/**
 * observed: section 6, unplug: absent in VM and VMI, the running pod's annotation loses the entry though the link is
 * still there. Then network-status loses it, or a migration leaves it behind; `forget` follows when no pod has it.
 */
export async function unplug(
  kubevirt: Kubevirt,
  machine: Machine,
  nic: string,
  way: Way,
): Promise<Migration | undefined> {
  const { virt } = kubevirt;
  const launcher = machine.instance?.active;
  const before = launcher === undefined ? [] : await selection(virt, launcher);
  await onBoth(virt, machine, ({ domain }) => {
    const port = domain.devices.interfaces.find(({ name }) => name === nic);
    if (port !== undefined) port.state = "absent";
  });
  if (launcher === undefined) {
    await forget(kubevirt, machine, nic);
    return undefined;
  }
  const after = await rewriteSelection(virt, machine, launcher);
  await virt.pace("unplug asked");
  if (way === "by migration") return kubevirt.migrate(machine, { isWorkloadUpdate: true });
  const lost = before.find(({ interface: name }) => !after.some((each) => each.interface === name));
  if (lost !== undefined) await virt.kubelet.unplug(launcher, lost.interface);
  await report(virt, machine, launcher);
  await forget(kubevirt, machine, nic);
  return undefined;
}

/** observed: section 6. When the status entry is gone: out of the VMI's spec, and then out of the VM's. */
export async function forget({ virt }: Kubevirt, machine: Machine, nic: string): Promise<void> {
  const drop = (spec: DomainSpec) => {
    const port = spec.domain.devices.interfaces.find(({ name }) => name === nic);
    if (port?.state !== "absent") return;
    spec.networks = spec.networks.filter(({ name }) => name !== nic);
    spec.domain.devices.interfaces = spec.domain.devices.interfaces.filter(({ name }) => name !== nic);
  };
  await onVmi(virt, machine, drop);
  await virt.pace("forgotten by the VMI");
  await onVm(virt, machine, drop);
}

/**
 * observed: "seen again". The unplug is taken back in the VM; the VMI's `absent` never is: the unplug goes on to its
 * end, and `plugAgain` follows. Where no VMI runs that is all.
 */
export async function replug({ virt }: Kubevirt, machine: Machine, nic: string): Promise<void> {
  await onVm(virt, machine, ({ domain }) => {
    const port = domain.devices.interfaces.find(({ name }) => name === nic);
    delete port?.state;
  });
}

/** observed: "seen again". After the unplug, NICs that the VMI lacks are plugged as new; the guest was without. */
export async function plugAgain(
  kubevirt: Kubevirt,
  machine: Machine,
  nic: string,
  way: Way,
): Promise<Migration | undefined> {
  const { virt } = kubevirt;
  await forget(kubevirt, machine, nic);
  const { spec } = await virt.client.get(vms, machine.at);
  const { networks, domain } = spec.template.spec;
  await onVmi(virt, machine, (own) => {
    own.networks.push(...networks.filter(({ name }) => name === nic));
    own.domain.devices.interfaces.push(...domain.devices.interfaces.filter(({ name }) => name === nic));
  });
  return attach(kubevirt, machine, way);
}

/** observed: section 6, NAD swap: the VMI changes and a migration comes; the running pod's annotation stays. */
export async function swap(
  kubevirt: Kubevirt,
  machine: Machine,
  nic: string,
  definition: string,
): Promise<Migration | undefined> {
  await onBoth(kubevirt.virt, machine, ({ networks }) => {
    const network = networks.find(({ name }) => name === nic);
    if (network !== undefined) network.multus = { networkName: definition };
  });
  await kubevirt.virt.pace("swap asked");
  return machine.instance === undefined ? undefined : kubevirt.migrate(machine, { isWorkloadUpdate: true });
}

/** The VM first, as the user does it; virt-controller passes it on. A VMI without a VM is changed itself. */
async function onBoth(virt: Virt, machine: Machine, change: (spec: DomainSpec) => void): Promise<void> {
  await onVm(virt, machine, change);
  await virt.pace("VM changed");
  await onVmi(virt, machine, change);
}

async function onVm({ client }: Virt, { at, vmUid }: Machine, change: (spec: DomainSpec) => void): Promise<void> {
  if (vmUid === undefined) return;
  await edit(client, vms, at, ({ spec }) => change(spec.template.spec));
}

async function onVmi({ client }: Virt, { at, instance }: Machine, change: (spec: DomainSpec) => void): Promise<void> {
  if (instance === undefined) return;
  await edit(client, vmis, at, ({ metadata, spec }) => (metadata.uid === instance.uid ? change(spec) : false));
}

async function rewriteSelection({ client }: Virt, { at }: Machine, launcher: Launcher): Promise<Element[]> {
  const vmi: Vmi = await client.get(vmis, at);
  const elements = elementsOf(vmi.spec, launcher.namespace, launcher.scheme);
  await edit(client, pods, launcher.at, ({ metadata }) => {
    if (metadata.uid !== launcher.uid) return false;
    metadata.annotations = { ...metadata.annotations, [networksAnnotation]: JSON.stringify(elements) };
    return true;
  });
  return elements;
}

async function selection({ client }: Virt, launcher: Launcher): Promise<Element[]> {
  const pod = await client.get(pods, launcher.at);
  return JSON.parse(pod.metadata.annotations?.[networksAnnotation] ?? "[]") as Element[];
}

async function report({ client }: Virt, { at, instance }: Machine, launcher: Launcher): Promise<void> {
  await edit(client, vmis, at, (vmi) => {
    if (vmi.metadata.uid !== instance?.uid) return false;
    vmi.status = { ...vmi.status, interfaces: reported(vmi, launcher) };
    return true;
  });
}
