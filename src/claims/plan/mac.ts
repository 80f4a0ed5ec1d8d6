// The MAC of a NIC, as the label of its claim. Pure.
import { macOf, type VmiSpec } from "../../api/kubevirt.ts";
import type { Life } from "./lives.ts";

const sixBytes = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/;

/** With dashes; from the VM's spec, else from the VMI's, else as the VMI reported it. Undefined: not known, and what stands stays. */
export function macLabelOf({ vm, vmi }: Life, nic: string): string | undefined {
  const reported = vmi?.status?.interfaces?.find(({ name }) => name === nic)?.mac;
  const mac = specified(vm?.spec?.template?.spec, nic) ?? specified(vmi?.spec, nic) ?? reported?.toLowerCase();
  return mac !== undefined && sixBytes.test(mac) ? mac.replaceAll(":", "-") : undefined;
}

function specified(spec: VmiSpec | undefined, nic: string): string | undefined {
  return spec === undefined ? undefined : macOf(nic, spec);
}
