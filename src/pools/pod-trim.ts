// A pod as the leader keeps it: cut down to what is read of it, and found by the VMI and the claims it is about. One
// informer serves leak collection and claims, since a cluster has as many pods as anything.
import { primaryClaimAnnotation } from "../api/claims/claim-marks.ts";
import { createdByLabelName, domainAnnotationName, launcherLabelName } from "../api/claims/kubevirt.ts";
import { launchedBy } from "../api/claims/launcher-pod.ts";
import { mirrorAnnotation } from "../api/holds/pod-uid.ts";
import { statusAnnotation } from "../api/network-status.ts";
import type { Pod } from "../cluster/resources.ts";
import { claimReferencesOf } from "../cni/claim-references.ts";
import { defaultNetworkAnnotation, networksAnnotation } from "../cni/selection.ts";
import type { Indexes } from "../kube/cache/store.ts";
import { type DeepReadonly, type KubeObject, picked } from "../kube/meta.ts";

/** Of a pod of 5 to 50 KB about 300 bytes are read: 100,000 pods are 30 MB. Launchers and claims keep 500 more. */
export function trimPod({ metadata, spec, status }: Pod): Pod {
  const isLauncher = launchedBy(metadata) !== undefined;
  const annotations = keptAnnotations(metadata, isLauncher);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...picked(metadata, "name", "namespace", "uid", "resourceVersion", "deletionTimestamp"),
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(isLauncher && { labels: picked(metadata.labels, launcherLabelName, createdByLabelName) }),
      ...(isLauncher && picked(metadata, "ownerReferences")),
    },
    ...(spec?.nodeName !== undefined && { spec: { nodeName: spec.nodeName } }),
    ...(status?.phase !== undefined && { status: { phase: status.phase } }),
  };
}

/** `launcher`: namespace/name of the VMI. `claim`: namespace/name of each claim that the pod refers to. */
export const podIndexes: Indexes<Pod> = {
  launcher: ({ metadata }) => {
    const launched = launchedBy(metadata);
    return launched === undefined ? [] : [`${metadata.namespace ?? ""}/${launched.name}`];
  },
  claim: ({ metadata }) => referencesOf(metadata).map((claim) => `${metadata.namespace ?? ""}/${claim}`),
};

function keptAnnotations(metadata: KubeObject["metadata"], isLauncher: boolean): Record<string, string> {
  const { annotations = {} } = metadata;
  const networks = statusAnnotation(annotations);
  const isWithClaims = isLauncher || referencesOf(metadata).length > 0;
  return {
    ...(networks !== undefined && { "k8s.v1.cni.cncf.io/network-status": networks }),
    ...picked(annotations, mirrorAnnotation),
    ...(isWithClaims && picked(annotations, networksAnnotation, defaultNetworkAnnotation, primaryClaimAnnotation)),
    ...(isLauncher && picked(annotations, domainAnnotationName)),
  };
}

function referencesOf({ namespace = "", name = "", annotations = {} }: DeepReadonly<KubeObject["metadata"]>) {
  return claimReferencesOf({ namespace, name, annotations });
}
