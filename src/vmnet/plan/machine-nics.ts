// The NICs of a VM that are on Multus networks, in the order of its spec, with their MACs. Pure. A MAC is what the spec
// says, else what the annotation says, else what KubeVirt made up (the VMI's status). Whatever else stands in a VM is
// no reason to refuse its other NICs.
import { definitionKeyOf, type VirtualMachine, type VirtualMachineInstance } from "../../api/claims/kubevirt.ts";
import { hashLabel } from "../../api/holds/owner-record.ts";
import { macAnnotation } from "../../api/vmnet/marks.ts";
import type { DeepReadonly, KubeObject } from "../../kube/meta.ts";
import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import { type Mac, parseMac } from "../../net/mac.ts";

export type Machine = VirtualMachine & KubeObject;
export type Instance = VirtualMachineInstance & KubeObject;

export interface MachineNic {
  /** In the VM. */
  readonly name: string;
  /** namespace/name of the definition. */
  readonly network: string;
  /** Undefined: nobody has said it yet, or what was said is none. */
  readonly mac: Mac | undefined;
}

export function nicsOfMachine(vm: DeepReadonly<Machine>, vmi: DeepReadonly<Instance> | undefined): MachineNic[] {
  const spec = vm.spec?.template?.spec;
  const interfaces = new Map((spec?.domain?.devices?.interfaces ?? []).map((each) => [each.name, each]));
  const annotated = annotatedMacs(vm);
  const generated = new Map((vmi?.status?.interfaces ?? []).map(({ name = "", mac }) => [name, mac]));
  return (spec?.networks ?? []).flatMap((network) => {
    const key = definitionKeyOf(network, vm.metadata.namespace ?? "");
    const nic = interfaces.get(network.name);
    if (key === undefined || nic?.state === "absent") return [];
    const said = [nic?.macAddress, annotated.get(network.name), generated.get(network.name)];
    return [{ name: network.name, network: key, mac: said.map(readMac).find((mac) => mac !== undefined) }];
  });
}

/** Changes with what the VM itself says of its NICs; not with MACs that KubeVirt makes up at each start. */
export function nicsMark(vm: DeepReadonly<Machine>): string {
  const nics = nicsOfMachine(vm, undefined).map(({ name, network, mac = "" }) => `${name} ${network} ${mac}`);
  return hashLabel(nics.toSorted().join("\n"));
}

/** Undefined: it is none. */
export function readMac(text: unknown): Mac | undefined {
  return typeof text === "string" && text !== "" ? attempt(NetError, () => parseMac(text)) : undefined;
}

function annotatedMacs({ metadata }: DeepReadonly<Machine>): ReadonlyMap<string, unknown> {
  const parsed = attempt(SyntaxError, () => JSON.parse(metadata.annotations?.[macAnnotation] ?? "{}") as unknown);
  const isObject = typeof parsed === "object" && parsed !== null;
  return new Map(isObject ? Object.entries(parsed) : []);
}
