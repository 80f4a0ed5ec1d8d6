// What this node's running pods use of a slice, by what a multi-network plugin noted on them: for a journal that knows nothing. Pure.
//
// Not promised: that such an address is of this network; two networks may use the same numbers. One too many is held until its pod goes.
import { readNetworkStatus, statusAnnotation } from "../../api/network-status.ts";
import type { Hold } from "../../ipam/ledger.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import type { Pod } from "../../ledger/resources.ts";
import { contains } from "../../net/prefix.ts";
import type { SliceObject } from "./slice-object.ts";

export function holdsOfPods(
  running: Iterable<DeepReadonly<Pod>>,
  { domain, slice }: Pick<SliceObject, "domain" | "slice">,
): Hold[] {
  return Array.from(running).flatMap(({ metadata, status }) => {
    if (status?.phase === "Succeeded" || status?.phase === "Failed") return [];
    const { uid = "", namespace = "", name = "" } = metadata;
    const interfaces = readNetworkStatus(statusAnnotation(metadata.annotations)) ?? [];
    return interfaces
      .filter(({ isDefault }) => !isDefault)
      .flatMap(({ interface: port, addresses }) =>
        addresses
          .filter((address) => address.family === slice.family && contains(slice, address))
          .map((address): Hold => ({
            domain,
            address,
            owner: { kind: "pod", uid, namespace, name, interface: port },
            version: "",
          })),
      );
  });
}
