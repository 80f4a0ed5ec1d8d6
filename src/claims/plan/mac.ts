// The MAC of a NIC, as the label of its claim: for people. Who may have it, the holds say. Pure.
import { macLabelName } from "../../api/claim-marks.ts";
import { macOf, type VmiSpec } from "../../api/kubevirt.ts";
import type { Life } from "./lives.ts";

const sixBytes = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/;

/** With dashes; from the VM's spec, else from the VMI's, else as the VMI reported it. Empty: not known, and what stands stays. */
export function macMark({ vm, vmi }: Life, nic: string): Record<string, string> {
  const reported = vmi?.status?.interfaces?.find(({ name }) => name === nic)?.mac;
  const mac = specified(vm?.spec?.template?.spec, nic) ?? specified(vmi?.spec, nic) ?? reported?.toLowerCase();
  return mac !== undefined && sixBytes.test(mac) ? { [macLabelName]: mac.replaceAll(":", "-") } : {};
}

function specified(spec: VmiSpec | undefined, nic: string): string | undefined {
  return spec === undefined ? undefined : macOf(nic, spec);
}
