// Whether persistent addresses are on: --persistent-ips, or KubeVirt's own feature gate VMPersistentIPs. Promised: an
// unknown gate is not on; nothing is made and nothing is taken away. A gate that is off frees no hold.
import type { ClaimsState } from "../../cluster/claims-state.ts";
import { OptionalInformer } from "../../cluster/optional-informer.ts";
import type { DeepReadonly, KubeObject } from "../../kube/meta.ts";
import type { Runnable } from "../../kube/process/stages.ts";
import { defineResource } from "../../kube/resource.ts";
import type { FollowOptions } from "./caches.ts";

export const gateModes = ["on", "off", "kubevirt"] as const;
export type GateMode = (typeof gateModes)[number];

/** The object that configures KubeVirt: there is one. */
interface KubeVirt extends KubeObject {
  spec?: {
    configuration?: { developerConfiguration?: { featureGates?: string[]; disabledFeatureGates?: string[] } };
  };
}

const kubevirts = defineResource<KubeVirt>({ group: "kubevirt.io", version: "v1", kind: "KubeVirt", namespaced: true });
const featureGate = "VMPersistentIPs";

interface GateOptions extends FollowOptions {
  readonly mode: GateMode;
  /** Only VMs with the label allow-persistent-ips.k8s.cni.cncf.io=true. */
  readonly needsLabel: boolean;
}

export class FeatureGate {
  readonly #options: GateOptions;
  readonly #kubevirts: OptionalInformer<KubeVirt> | undefined;

  constructor(options: GateOptions) {
    this.#options = options;
    if (options.mode === "kubevirt") this.#kubevirts = new OptionalInformer({ ...options, resource: kubevirts });
  }

  /** On every replica. */
  get follows(): readonly Runnable[] {
    return this.#kubevirts === undefined ? [] : [this.#kubevirts.follow];
  }

  get state(): ClaimsState {
    const { mode, needsLabel } = this.#options;
    if (mode !== "kubevirt") return { gate: mode, needsLabel };
    // A server that does not know the kind may be one that starts.
    const objects = this.#kubevirts?.isListed === true ? this.#kubevirts.list() : undefined;
    if (objects === undefined) return { gate: "unknown", needsLabel };
    return { gate: objects.some(isOn) ? "on" : "off", needsLabel };
  }

  /** Told when it may have changed, until the signal aborts. */
  follow(changed: () => void, signal: AbortSignal): void {
    const end = this.#kubevirts?.handle(changed);
    if (end !== undefined) signal.addEventListener("abort", end, { once: true });
  }
}

function isOn({ spec }: DeepReadonly<KubeVirt>): boolean {
  const { featureGates = [], disabledFeatureGates = [] } = spec?.configuration?.developerConfiguration ?? {};
  return featureGates.includes(featureGate) && !disabledFeatureGates.includes(featureGate);
}
