// Values for the tests of this folder: a hold of a pod, facts where all is well, a pool as whereabouts writes it.
import type { IPPool, PoolAllocation } from "../../../api/pools/ip-pool.ts";
import type { Standing } from "../../../cluster/fencing.ts";
import type { HoldNote } from "../../../ipam/ledger.ts";
import type { PodOwner } from "../../../ipam/owner.ts";
import { parseAddress } from "../../../net/address.ts";
import type { PoolHold } from "../../pool-hold.ts";
import type { Facts, PodFacts } from "../judge.ts";

export interface HeldParts {
  readonly address?: string;
  readonly owner?: Partial<PodOwner>;
  readonly node?: string;
  readonly domain?: string;
  readonly namespace?: string;
  readonly note?: HoldNote;
  readonly version?: string;
}

export function heldOf(parts: HeldParts = {}): PoolHold {
  const address = parseAddress(parts.address ?? "10.0.0.7");
  const owner: PodOwner = {
    kind: "pod",
    uid: "uid-1",
    namespace: "shop",
    name: "web-0",
    interface: "net1",
    ...parts.owner,
  };
  return {
    hold: {
      domain: parts.domain ?? "network:",
      address,
      owner,
      version: parts.version ?? "o@1",
      ...(parts.note && { note: parts.note }),
    },
    kind: "OverlappingRangeIPReservation",
    namespace: parts.namespace ?? "kube-system",
    name: address.toString(),
    node: parts.node ?? "n1",
  };
}

export function podOf(parts: Partial<PodFacts> = {}): PodFacts {
  return { uid: "uid-1", node: "n1", phase: "Running", isTerminating: false, ...parts };
}

export interface World {
  readonly pod?: PodFacts | undefined;
  /** Key: the node's name. One that is not named is deleted, and was heard a moment ago. */
  readonly nodes?: Readonly<Record<string, Standing>>;
  readonly statefulSet?: Facts["statefulSet"];
  readonly lastNode?: string;
  readonly isSuperseded?: boolean;
}

export function factsOf({ nodes = { n1: "ready" }, ...parts }: World = {}): Facts {
  return {
    pod: parts.pod,
    nodeState: (name) => nodes[name] ?? "unreachable",
    unreachableNode: Object.keys(nodes).find((name) => nodes[name] === "unreachable"),
    statefulSet: parts.statefulSet,
    lastNode: parts.lastNode ?? "",
    isSuperseded: parts.isSuperseded ?? false,
  };
}

export function poolOf(
  range: string,
  allocations: Record<string, PoolAllocation> = {},
  metadata: IPPool["metadata"] = {},
): IPPool {
  return {
    apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
    kind: "IPPool",
    metadata: { namespace: "kube-system", name: range.replaceAll(/[:/]/g, "-"), ...metadata },
    spec: { range, allocations },
  };
}
