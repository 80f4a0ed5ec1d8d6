// What a story reads of a VM that runs, and of what daemons told.
import type { Machine } from "../kubevirt/machine.ts";

/** In CIDR form, of the pod in which the guest is, in the order of its NICs. */
export function addressesOf({ instance, name }: Machine): string[] {
  if (instance === undefined) throw new Error(`${name} does not run`);
  return [...instance.active.attached.values()].flatMap(({ addresses }) => addresses);
}
