// The annotation k8s.ovn.org/pod-networks of a pod that is being attached: written before its port, as OVN-Kubernetes
// does, so that whoever looks at ports finds the pod's word for it.
import { networkEntry, podNetworksAnnotation, writePodNetworks } from "../../cluster/pod-network.ts";
import { pods } from "../../cluster/resources.ts";
import type { CniResult } from "../../cni/result.ts";
import { isApiError } from "../../kube/errors.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Mac } from "../../net/mac.ts";
import type { ObjectName } from "../holds/sandboxes.ts";

/** Multus attaches a pod's networks one after the other; the kubelet and others write its status meanwhile. */
const triesMax = 8;

interface PodEntry {
  /** Undefined: the default one. */
  readonly network: string | undefined;
  readonly mac: Mac;
  readonly result: CniResult;
}

/** By the pod's status: that needs no right to change what a pod runs. Throws the client's error. */
export async function annotatePod(client: KubeClient, pod: ObjectName, entry: PodEntry, signal: AbortSignal) {
  const { network, mac, result } = entry;
  if (result.ips.length === 0) return;
  const written = networkEntry({
    addresses: result.ips.map(({ address }) => address),
    mac,
    gateways: result.ips.flatMap(({ gateway }) => gateway ?? []),
    routes: [],
    ...(network === undefined && { role: "primary" }),
  });
  for (let tries = 1; ; tries++) {
    const { metadata } = await client.get(pods, pod, { signal });
    const before = metadata.annotations?.[podNetworksAnnotation];
    const text = writePodNetworks(before, written, network);
    if (text === before) return;
    const { uid, resourceVersion } = metadata;
    const body = { metadata: { uid, resourceVersion, annotations: { [podNetworksAnnotation]: text } } };
    try {
      return void (await client.patch(pods, pod, { type: "merge", body }, { subresource: "status", signal }));
    } catch (error) {
      if (!isApiError(error, "conflict") || tries === triesMax) throw error;
    }
  }
}
