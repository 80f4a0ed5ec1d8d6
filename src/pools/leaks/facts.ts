// What is known of the things that an address's life depends on: a pod, a node, a StatefulSet. Values, made from objects at the
// border; absence is a fact too, and stands here as `undefined`.
import type { Standing } from "../../cluster/fencing.ts";

export interface PodFacts {
  readonly uid: string;
  readonly node: string;
  readonly phase: string;
  /** It has a deletionTimestamp: its containers may still run. */
  readonly isTerminating: boolean;
  /** The kubelet's copy of a pod that it started from a file: the UID under which the kubelet, and so the CNI plugin, knows it. */
  readonly mirrorOf?: string;
}

export interface StatefulSetFacts {
  /** spec.ordinals.start */
  readonly start: number;
  readonly replicas: number;
  readonly isTerminating: boolean;
}

export interface Facts {
  /** The pod of the owner's namespace and name, whatever its UID; undefined: there is none. */
  readonly pod: PodFacts | undefined;
  readonly nodeState: (name: string) => Standing;
  /** Some node that is unreachable and may have had the pod, if there is any: for holds that name no node. */
  readonly unreachableNode: string | undefined;
  /** That of the keeper; undefined: it does not exist, or there is no keeper. */
  readonly statefulSet: StatefulSetFacts | undefined;
  /** Where the pod was when it was last seen, for holds that do not say it; empty: never seen. */
  readonly lastNode: string;
  /** The owner has another hold in the same range, and the pod's network-status shows that one and not this. */
  readonly isSuperseded: boolean;
}
