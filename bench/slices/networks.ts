// The networks of a benchmark: sliced ranges, each with its own network name, told to the cluster by a definition each.
//
// 10.0.0.0/8 in slices of /22, as in the proposal: 16,384 slices of 1,024 addresses, three times what 5,000 nodes need.
import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import { networkAttachmentDefinitions } from "../../src/cluster/resources.ts";
import { until } from "../../test/lab/wait.ts";
import type { BenchLab } from "../cni/lab.ts";
import { eachAtOnce } from "../cni/population.ts";

export interface SlicedNetwork {
  /** Also its network_name. */
  readonly name: string;
  readonly range: string;
  readonly sliceSize: string;
}

export function slicedNetworks(count: number): SlicedNetwork[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `sliced-${index}`,
    range: "10.0.0.0/8",
    sliceSize: "/22",
  }));
}

export function slicedConfig({ name, range, sliceSize }: SlicedNetwork): string {
  const ipam = { type: "holdfast", range, network_name: name, node_slice_size: sliceSize };
  return JSON.stringify({ cniVersion: "1.0.0", name, type: "macvlan", ipam });
}

/** The kind itself, which a cluster has from Multus. Before the controller starts: it looks for it once in a while. */
export async function knowDefinitions(lab: BenchLab): Promise<void> {
  const crd = networkAttachmentDefinitionCrd;
  await lab.cluster.rest.apply(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`, crd);
  await until(async () => (await lab.admin.list(networkAttachmentDefinitions)).items.length === 0, {
    what: "the API server to serve network-attachment-definitions",
  });
}

export async function define(lab: BenchLab, networks: readonly SlicedNetwork[]): Promise<void> {
  await eachAtOnce(networks, (network) =>
    lab.admin.create(networkAttachmentDefinitions, {
      // Where definitions may cut ranges.
      metadata: { namespace: "default", name: network.name },
      spec: { config: slicedConfig(network) },
    }),
  );
}
