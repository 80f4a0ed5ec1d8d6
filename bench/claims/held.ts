// Who holds what on the persistent network, by the API server's objects. Names of objects and annotations are put
// together by hand: on purpose without the code that is measured.
import { reservations } from "../../src/cluster/resources.ts";
import type { BenchLab } from "../cni/lab.ts";
import type { HeldAddress } from "./audit.ts";
import type { VmNetwork } from "./networks.ts";

/** Without those that rest. */
export async function heldOf(lab: BenchLab, { name: network }: VmNetwork): Promise<HeldAddress[]> {
  const { items } = await lab.admin.list(reservations);
  return items.flatMap(({ metadata, spec }) => {
    const { name = "", annotations = {} } = metadata;
    const isHeld = name.startsWith(`${network}-`) && annotations["holdfast.io/cooling-until"] === undefined;
    const ownerKind = annotations["holdfast.io/owner-kind"] ?? "pod";
    const ownerUid = annotations["holdfast.io/owner-uid"] ?? spec.poduid ?? "";
    return isHeld ? [{ address: name.slice(network.length + 1), ownerKind, ownerUid }] : [];
  });
}
