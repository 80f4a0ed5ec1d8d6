// The launcher pods of one VM, played: labels and annotations as KubeVirt writes them, read by the same reader as those
// of a cluster. Nothing here decides where the guest is.
import { randomUUID } from "node:crypto";

import {
  networkEntry,
  type PodNetwork,
  podNetworksAnnotation,
  writePodNetworks,
} from "../../../../src/cluster/pod-network.ts";
import type { Pod } from "../../../../src/cluster/resources.ts";
import { type Launcher, readLauncher } from "../../../../src/migration/objects/launcher.ts";

export interface VmIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly network: PodNetwork;
}

export interface PlayedPod {
  readonly name: string;
  readonly uid: string;
}

interface Played extends PlayedPod {
  readonly node: string;
  readonly createdMs: number;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  phase: "Running" | "Succeeded" | "Failed";
}

export class PlayedLaunchers {
  readonly vm: VmIdentity;
  /** Of its VMI: every start of the VM has another. */
  #instance = randomUUID();
  #pods: Played[] = [];
  #count = 0;

  constructor(vm: VmIdentity) {
    this.vm = vm;
  }

  /** A migration's target names its source's node until the migration is over. */
  add(node: string, sourceNode = node): PlayedPod {
    const { name, network } = this.vm;
    const isTarget = this.#pods.length > 0;
    const pod = `virt-launcher-${name}-${++this.#count}`;
    const uid = randomUUID();
    this.#pods.push({
      name: pod,
      uid,
      node,
      createdMs: this.#count * 1000,
      labels: {
        "kubevirt.io": "virt-launcher",
        "kubevirt.io/created-by": this.#instance,
        "kubevirt.io/nodeName": sourceNode,
        ...(isTarget && { "kubevirt.io/migrationJobUID": randomUUID() }),
      },
      annotations: {
        "kubevirt.io/allow-pod-bridge-network-live-migration": "",
        "kubevirt.io/domain": name,
        [podNetworksAnnotation]: writePodNetworks(undefined, networkEntry(network)),
      },
      phase: "Running",
    });
    return { name: pod, uid };
  }

  /** The daemon of its node has seen the guest. */
  seen(pod: PlayedPod): void {
    this.#of(pod).annotations["holdfast.io/guest-seen"] = `${new Date().toISOString()} rarp`;
  }

  /** KubeVirt's word that the guest runs there. */
  ready(pod: PlayedPod): void {
    this.#of(pod).annotations["kubevirt.io/migration-target-ready-timestamp"] = new Date().toISOString();
  }

  ended(pod: PlayedPod, phase: "Succeeded" | "Failed"): void {
    this.#of(pod).phase = phase;
  }

  /** The VM is stopped: its VMI and its pods are no more. What is added next is of a new life. */
  clear(): void {
    this.#instance = randomUUID();
    this.#pods = [];
  }

  list(): readonly Launcher[] {
    return this.#pods.flatMap((pod) => readLauncher(this.#object(pod)) ?? []);
  }

  #of({ uid }: PlayedPod): Played {
    return this.#pods.find((each) => each.uid === uid)!;
  }

  #object({ name, uid, node, createdMs, labels, annotations, phase }: Played): Pod {
    const { namespace } = this.vm;
    const creationTimestamp = new Date(createdMs).toISOString();
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace, name, uid, creationTimestamp, labels, annotations },
      spec: { nodeName: node },
      status: { phase },
    };
  }
}
