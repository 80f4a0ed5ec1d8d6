// The peers that our users come from: whereabouts and its rewrite, each a binary given by its path, run for real
// against the same API server, in a namespace and with a service account of their own.
//
// They cannot be had from a package registry; without a path there is a reason instead of a figure.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { LabClient } from "../../test/lab/client.ts";
import { type Absent, type Contestant, whyNotExecutable } from "./contestant.ts";
import { execCall } from "./exec-call.ts";
import type { BenchLab } from "./lab.ts";

export interface WhereaboutsPlan {
  readonly name: "whereabouts" | "whereabouts-fork";
  /** The environment variable that has the binary's path. */
  readonly variable: "PEER_WHEREABOUTS" | "PEER_WHEREABOUTS_FORK";
  readonly folder: string;
  /** Only the rewrite knows it: works without a lease. Faster one at a time, and collapses under many. */
  readonly optimistic?: boolean;
}

const rules = [
  { apiGroups: ["whereabouts.cni.cncf.io"], resources: ["*"], verbs: ["*"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["*"] },
  { apiGroups: [""], resources: ["pods", "nodes", "namespaces"], verbs: ["get", "list", "watch"] },
  {
    apiGroups: ["k8s.cni.cncf.io"],
    resources: ["network-attachment-definitions"],
    verbs: ["get", "list", "watch"],
  },
];

export interface Whereabouts {
  readonly name: string;
  /** Where its objects are. */
  readonly namespace: string;
  on(range: string): Contestant;
  /** On the node's slice of the range; there must be a NodeSlicePool of the network's name in its namespace. */
  onSlice(slice: SlicePlan): Contestant;
}

interface SlicePlan {
  readonly node: string;
  /** network_name. */
  readonly network: string;
  readonly range: string;
  readonly sliceSize: string;
}

export async function whereabouts(lab: BenchLab, plan: WhereaboutsPlan): Promise<Whereabouts | Absent> {
  const { name, variable } = plan;
  const file = process.env[variable];
  if (file === undefined || file === "") {
    return { name, reason: `${variable} is not set: give it the path of the ${name} binary to run it beside ours` };
  }
  const reason = whyNotExecutable(file);
  if (reason !== undefined) return { name, reason: `${variable}: ${reason}` };
  const namespace = `peer-${name}`;
  const client = await lab.cluster.clientFor({ name, namespace, rules });
  const flatFile = writeFlatFile(plan.folder, client);
  const as = (node: string, config: string): Contestant => {
    const program = { file, environment: { NODENAME: node } };
    return { name, call: (command, attachment) => execCall(program, command, attachment, config) };
  };
  return {
    name,
    namespace,
    on: (range) => as("bench-node-0", configOf(plan, client, flatFile, { range })),
    onSlice: ({ node, network, range, sliceSize }) =>
      as(node, configOf(plan, client, flatFile, { range, network_name: network, node_slice_size: sliceSize })),
  };
}

const commonOf = ({ kubeconfig }: LabClient) => ({
  type: "whereabouts",
  kubernetes: { kubeconfig },
  log_level: "error",
});

/** It does not work without one, even where the network's own configuration is complete. */
function writeFlatFile(folder: string, client: LabClient): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "whereabouts.conf");
  writeFileSync(file, JSON.stringify({ datastore: "kubernetes", ...commonOf(client) }));
  return file;
}

function configOf(
  { optimistic = false }: WhereaboutsPlan,
  client: LabClient,
  flatFile: string,
  network: { readonly range: string; readonly network_name?: string; readonly node_slice_size?: string },
): string {
  const ipam = {
    ...commonOf(client),
    ...network,
    configuration_path: flatFile,
    ...(optimistic && { optimistic_ipam: true }),
  };
  return JSON.stringify({ cniVersion: "1.0.0", name: "bench", type: "macvlan", ipam });
}
