// The smallest valid objects of the kinds that the cases use.
import type { Fixture } from "./fixture.ts";

export const configMap = (name: string, data: Record<string, string> = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});

export const secret = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  ...more,
});

export const lease = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name, ...metadata },
  spec,
});

/** Tolerates no token and no service account, which neither server hands out. */
export const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "main", image: "busybox" }], automountServiceAccountToken: false, ...spec },
});

export const node = (name: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, ...metadata },
});

export const deployment = (name: string, containers: readonly object[] = [{ name: "main", image: "busybox" }]) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers } },
  },
});

export const event = (fixture: Fixture, name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name },
  involvedObject: { kind: "Pod", namespace: fixture.namespace, name: "someone" },
  reason: "Tested",
  message: "A case was here.",
  type: "Normal",
  source: { component: "conformance" },
  ...more,
});

/** Several configmaps, named by a prefix and a number of two digits, so that their order is that of their names. */
export async function makeConfigMaps(fixture: Fixture, count: number, prefix = "item-"): Promise<string[]> {
  const made = Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(2, "0")}`);
  for (const name of made) await fixture.make("configmaps", configMap(name));
  return made;
}
