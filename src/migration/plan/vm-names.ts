// Which pods are of one VM, among those whose names begin alike. Pure.
//
// Identity is the annotation kubevirt.io/domain, the whole name. Two VMs whose labels are the same (the label is the
// host name, and cut) are two VMs. A pod of an older KubeVirt has the label alone: one that may be cut belongs to the
// only VM whose name begins so, and to none of several.
import type { Launcher } from "../objects/launcher.ts";

/** Key: the VM's name. `pods`: of one namespace. */
export function groupByVm(pods: readonly Launcher[]): ReadonlyMap<string, readonly Launcher[]> {
  const whole = new Set(pods.filter(({ isCut }) => !isCut).map(({ vm }) => vm));
  const nameOf = ({ vm, isCut }: Launcher): string => {
    if (!isCut) return vm;
    const longer = [...whole].filter((name) => name.startsWith(vm));
    return longer.length === 1 ? longer[0]! : vm;
  };
  return Map.groupBy(pods, nameOf);
}
