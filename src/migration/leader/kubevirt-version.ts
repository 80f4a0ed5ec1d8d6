// Whether KubeVirt is one whose VMs can be moved: live migration with bridge binding on the pod network came with 1.0
// (kubevirt.io/allow-pod-bridge-network-live-migration). Beside an older one no VM's rows are written. A KubeVirt that
// does not tell its version, or a cluster without one, is no obstacle.
import { OptionalInformer, type OptionalInformerOptions } from "../../cluster/optional-informer.ts";
import type { DeepReadonly, KubeObject } from "../../kube/meta.ts";
import { keyOf } from "../../kube/meta.ts";
import type { Runnable } from "../../kube/process/stages.ts";
import { defineResource } from "../../kube/resource.ts";

interface KubeVirt extends KubeObject {
  status?: { observedKubeVirtVersion?: string; targetKubeVirtVersion?: string };
}

const kubevirts = defineResource<KubeVirt>({ group: "kubevirt.io", version: "v1", kind: "KubeVirt", namespaced: true });
const oldestMajor = 1;

export class KubevirtVersion {
  readonly #objects: OptionalInformer<KubeVirt>;

  constructor(options: Pick<OptionalInformerOptions<KubeVirt>, "client" | "clock" | "onError">) {
    this.#objects = new OptionalInformer({ ...options, resource: kubevirts });
  }

  /** On every replica. */
  get follow(): Runnable {
    return this.#objects.follow;
  }

  get isKnown(): boolean {
    return this.#objects.isKnown;
  }

  /** Empty, or in a sentence why no VM's rows are written. */
  get obstacle(): string {
    for (const object of this.#objects.list() ?? []) {
      const version = versionOf(object);
      if (!isTooOld(version)) continue;
      const what = `KubeVirt ${keyOf(object)} is of version ${version}: VMs with bridge binding on the pod network migrate from 1.0 on`;
      return `${what}, and no VM gets rows beside an older one. Upgrade KubeVirt.`;
    }
    return "";
  }

  handle(changed: () => void): () => void {
    return this.#objects.handle(changed);
  }
}

/** During an upgrade: what is being left. */
function versionOf({ status }: DeepReadonly<KubeVirt>): string {
  return status?.observedKubeVirtVersion || status?.targetKubeVirtVersion || "";
}

/** `v0.59.2`. Of a build of somebody's own (a commit, a branch) nothing is said. */
export function isTooOld(version: string): boolean {
  const major = /^v?(\d+)\.\d+/.exec(version)?.[1];
  return major !== undefined && Number(major) < oldestMajor;
}
