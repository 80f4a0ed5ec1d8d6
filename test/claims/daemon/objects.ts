// Objects as KubeVirt makes them, for stories of daemons: a machine, its networks, the metadata of its launchers.
import { hashedInterfaceName, type VmInterface, type VmNetwork } from "../../../src/api/claims/kubevirt.ts";
import type { KubeObject } from "../../../src/kube/meta.ts";

/** A VM, or a VMI without one, and the VMI that runs. */
export interface Machine {
  readonly name: string;
  /** Whose the claims are. */
  readonly ownerUid: string;
  readonly vmiUid: string;
  readonly networks: readonly VmNetwork[];
}

export interface MachineOptions {
  readonly nics?: readonly string[];
  readonly absent?: readonly string[];
  /** The definition of every NIC. */
  readonly definition?: string;
  readonly labels?: Record<string, string>;
  readonly isBare?: boolean;
}

export interface Launcher {
  readonly node: string;
  readonly name: string;
  readonly uid: string;
  sandbox: string;
}

export interface LauncherOptions {
  /** NIC -> more of its element. */
  readonly more?: Readonly<Record<string, object>>;
  readonly isOrdinal?: boolean;
  readonly annotations?: Record<string, string>;
}

/** As virt-controller writes it. */
export function launcherMetadata(machine: Machine, options: LauncherOptions): Partial<KubeObject["metadata"]> {
  const { more = {}, isOrdinal = false, annotations = {} } = options;
  const elements = machine.networks.flatMap(({ name, multus }) => {
    if (multus === undefined) return [];
    const [space, nad] = multus.networkName.split("/") as [string, string];
    return [
      { name: nad, namespace: space, ...(!isOrdinal && { interface: hashedInterfaceName(name) }), ...more[name] },
    ];
  });
  const owner = {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    name: machine.name,
    uid: machine.vmiUid,
  };
  return {
    labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": machine.vmiUid },
    annotations: {
      "kubevirt.io/domain": machine.name,
      "k8s.v1.cni.cncf.io/networks": JSON.stringify(elements),
      ...annotations,
    },
    ownerReferences: [{ ...owner, controller: true }],
  };
}

export function specOf({ nics = ["blue"], absent = [], definition = "default/nad" }: MachineOptions) {
  const networks = nics.map((name): VmNetwork => ({ name, multus: { networkName: definition } }));
  const interfaces = nics.map((name): VmInterface => ({ name, ...(absent.includes(name) && { state: "absent" }) }));
  return { networks, domain: { devices: { interfaces } } };
}
