// What a pod got: the annotation `k8s.v1.cni.cncf.io/network-status`, section 5 of the same standard.

export const statusAnnotation = "k8s.v1.cni.cncf.io/network-status";

/** A CNI result of version 0.3.0 or later, as far as a status needs it. */
export interface CniResult {
  readonly interfaces?: readonly { readonly name: string; readonly mac?: string; readonly sandbox?: string }[];
  readonly ips?: readonly { readonly address: string; readonly interface?: number; readonly gateway?: string }[];
  readonly dns?: object;
}

export interface NetworkStatus {
  readonly name: string;
  readonly interface: string;
  readonly ips: readonly string[];
  readonly mac?: string;
  readonly default?: true;
  readonly dns: object;
}

export function networkStatus(
  name: string,
  interfaceName: string,
  result: CniResult,
  isDefault: boolean,
): NetworkStatus {
  const inPod = (result.interfaces ?? []).find((each) => each.name === interfaceName && Boolean(each.sandbox));
  return {
    name,
    interface: interfaceName,
    ips: (result.ips ?? []).map(({ address }) => address.split("/")[0] ?? address),
    ...(inPod?.mac !== undefined && { mac: inPod.mac }),
    ...(isDefault && { default: true }),
    dns: result.dns ?? {},
  };
}
