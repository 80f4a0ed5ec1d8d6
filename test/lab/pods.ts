// Pods of the lab's own image, made and watched.
import type { Cluster } from "./cluster.ts";
import { busyboxImage } from "./images.ts";
import { until } from "./wait.ts";

export interface ObservedPod {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
  };
}

export function podSpec(command: readonly string[]) {
  return {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: busyboxImage, imagePullPolicy: "Never", command }],
  };
}

export function isReady({ status }: ObservedPod): boolean {
  return status.conditions?.some((each) => each.type === "Ready" && each.status === "True") ?? false;
}

/** Waits until `count` pods with the label are Ready, and returns them. */
export function runningPods(lab: Cluster, label: string, count: number): Promise<ObservedPod[]> {
  const path = `/api/v1/namespaces/default/pods?labelSelector=${encodeURIComponent(label)}`;
  return until(
    async () => {
      const { items } = await lab.rest.get<{ items: ObservedPod[] }>(path);
      const ready = items.filter(isReady);
      return ready.length === count && ready;
    },
    { what: `${count} pods with ${label}`, everyMs: 400, timeoutMs: 120_000 },
  );
}
