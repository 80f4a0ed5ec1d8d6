// What a pod got: the annotation `k8s.v1.cni.cncf.io/network-status`, section 5 of the multi-network standard.

export const statusAnnotation = "k8s.v1.cni.cncf.io/network-status";

/** A CNI result of version 0.3.0 or later, as far as tests read it. */
export interface CniResult {
  readonly interfaces?: readonly { readonly name: string; readonly mac?: string; readonly sandbox?: string }[];
  readonly ips?: readonly { readonly address: string; readonly interface?: number; readonly gateway?: string }[];
  readonly dns?: object;
}

export interface NetworkStatus {
  readonly name: string;
  readonly interface: string;
  /** Absent where the network gives none. */
  readonly ips?: readonly string[];
  readonly mac?: string;
  readonly default?: true;
  readonly dns: object;
}
