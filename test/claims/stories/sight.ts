// What a story reads of a VM that runs, and of what daemons told.
import type { AnyObject } from "../../../src/kube/meta.ts";
import type { Machine } from "../kubevirt/machine.ts";

/** In CIDR form, of the pod in which the guest is, in the order of its NICs. */
export function addressesOf({ instance, name }: Machine): string[] {
  if (instance === undefined) throw new Error(`${name} does not run`);
  return [...instance.active.attached.values()].flatMap(({ addresses }) => addresses);
}

/** STATUS REASON of a claim's condition IPsAllocated. */
export function conditionOf(claim: AnyObject): string {
  const { conditions = [] } = (claim["status"] ?? {}) as {
    conditions?: { type: string; status: string; reason: string }[];
  };
  const found = conditions.find(({ type }) => type === "IPsAllocated");
  return `${found?.status} ${found?.reason}`;
}
