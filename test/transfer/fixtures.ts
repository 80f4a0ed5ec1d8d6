// Objects as whereabouts leaves them in a cluster, and as little of a cluster as a migration needs.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { parseAllDocuments } from "yaml";

import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import { holds, ipPools, namespaces, networkAttachmentDefinitions, reservations } from "../../src/cluster/resources.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { AnyObject, KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";

export const system = "kube-system";

export const pool = (
  name: string,
  range: string,
  entries: Record<string, [podref: string, ifname?: string]>,
  namespace = system,
): AnyObject => ({
  apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
  kind: "IPPool",
  metadata: { name, namespace },
  spec: {
    range,
    allocations: Object.fromEntries(
      Object.entries(entries).map(([key, [podref, ifname = "net1"]]) => [
        key,
        { id: `sandbox-of-${podref}`, podref, ifname },
      ]),
    ),
  },
});

export const reservation = (name: string, podref: string, ifname = "net1", namespace = system): AnyObject => ({
  apiVersion: "whereabouts.cni.cncf.io/v1alpha1",
  kind: "OverlappingRangeIPReservation",
  metadata: { name, namespace },
  spec: { podref, ifname },
});

const hold = (namespace: string, poolName: string, address: string, pod: string): AnyObject => ({
  apiVersion: "holdfast.io/v1alpha1",
  kind: "Hold",
  metadata: { name: `pool.${namespace}.${poolName}-${address}`, namespace },
  spec: {
    domain: `pool:${namespace}/${poolName}`,
    address,
    owner: { kind: "pod", uid: "", namespace: "default", name: pod, port: "net1" },
  },
});

export const definition = (namespace: string, name: string, ipam: object, more: object = {}): AnyObject => ({
  apiVersion: "k8s.cni.cncf.io/v1",
  kind: "NetworkAttachmentDefinition",
  metadata: { name, namespace },
  spec: {
    config: JSON.stringify({
      cniVersion: "0.3.1",
      name,
      type: "macvlan",
      ...more,
      ipam: { type: "whereabouts", ...ipam },
    }),
  },
});

/** A cluster of three tenants, as whereabouts has left it. */
export const village: readonly AnyObject[] = [
  definition("blue", "lan", { range: "10.1.0.0/24" }),
  definition("red", "wan", { ipRanges: [{ range: "10.2.0.0/24" }, { range: "fd00:2::/64" }] }),
  definition("red", "solo", { range: "10.3.0.0/24", enable_overlapping_ranges: false }),
  pool("10.1.0.0-24", "10.1.0.0/24", { "1": ["blue/a-0"], "2": ["blue/a-1"], "9": ["blue/no-record"] }),
  pool("10.2.0.0-24", "10.2.0.0/24", { "7": ["red/b-0", "net2"] }),
  pool("fd00-2---64", "fd00:2::/64", { "7": ["red/b-0", "net2"] }),
  pool("10.3.0.0-24", "10.3.0.0/24", { "4": ["red/c-0"] }),
  pool("10.9.0.0-24", "10.9.0.0/24", { "1": ["old/forgotten"] }),
  reservation("10.1.0.1", "blue/a-0"),
  reservation("10.1.0.2", "blue/a-1"),
  reservation("10.1.0.77", "blue/no-entry"),
  reservation("10.2.0.7", "red/b-0", "net2"),
  reservation("fd00-2--7", "red/b-0", "net2"),
  reservation("10.9.0.1", "old/forgotten"),
  hold(system, "10.3.0.0-24", "10.3.0.4", "c-0"),
];

export const crds = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

const folder = join(import.meta.dirname, "..", "..", "deploy", "crds");

/** Our definitions, and Multus'. */
export async function installDefinitions(client: KubeClient): Promise<void> {
  const ours = readdirSync(folder)
    .flatMap((file) =>
      parseAllDocuments(readFileSync(join(folder, file), "utf8")).map((each) => each.toJS() as AnyObject),
    )
    .filter(({ kind }) => kind === "CustomResourceDefinition");
  for (const crd of [...ours, networkAttachmentDefinitionCrd as unknown as AnyObject]) {
    await client.create(crds, crd).catch(ignoring("already-exists"));
  }
  for (const resource of [ipPools, reservations, holds, networkAttachmentDefinitions]) {
    for (;;) {
      const served = await client.list<KubeObject>(resource).then(() => true, ignoring("not-found"));
      if (served === true) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Key: a kind. */
const resources = {
  IPPool: ipPools,
  OverlappingRangeIPReservation: reservations,
  Hold: holds,
  NetworkAttachmentDefinition: networkAttachmentDefinitions,
} as const;

export async function settleIn(client: KubeClient, objects: readonly AnyObject[]): Promise<void> {
  for (const name of new Set([system, ...objects.map(({ metadata }) => metadata.namespace!)])) {
    await client.create(namespaces, { metadata: { name } }).catch(ignoring("already-exists"));
  }
  for (const object of objects) {
    await client.create<KubeObject>(resources[object.kind as keyof typeof resources], object);
  }
}

/** Everything that a migration may touch, without what a server makes of itself: to be compared. */
export async function portrait(client: KubeClient): Promise<string[]> {
  const found: string[] = [];
  for (const resource of Object.values(resources)) {
    for (const { metadata, ...rest } of (await client.list<KubeObject>(resource)).items) {
      const { name, namespace, labels, annotations } = metadata;
      const { kind, spec } = rest as { kind?: string; spec?: unknown };
      found.push(JSON.stringify({ kind, namespace, name, labels, annotations, spec }));
    }
  }
  return found.sort();
}

/** Removes all of it. */
export async function moveOut(client: KubeClient): Promise<void> {
  for (const resource of Object.values(resources)) {
    for (const { metadata } of (await client.list<KubeObject>(resource)).items) {
      await client.delete<KubeObject>(resource, { namespace: metadata.namespace!, name: metadata.name! });
    }
  }
}

function ignoring(code: "already-exists" | "not-found") {
  return (error: unknown) => {
    if (!isApiError(error, code)) throw error;
  };
}
