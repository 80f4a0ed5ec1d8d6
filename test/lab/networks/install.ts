// Puts the delegating plugin into a cluster: its kind, its rights, its place around the default network.
import { networkAttachmentDefinitionCrd } from "../../../src/api/network-attachment-definition.ts";
import { makeClient } from "../client.ts";
import type { Conflist } from "../node-files.ts";
import type { Rest } from "../rest.ts";

export const pluginName = "lab-networks";

/** What was added to each sandbox, on every node. */
export const recordsFolder = "/var/lib/cni/lab-networks";

export interface NetworksOptions {
  /** A pod may only name definitions of its own namespace and of these. Without it: of any namespace. */
  readonly onlyOwnNamespaceAnd?: readonly string[];
}

/** The keys are Multus' own, so that the real one runs by the same. */
export function withNetworks(
  conflist: Conflist,
  kubeconfig: string,
  { onlyOwnNamespaceAnd }: NetworksOptions,
): Conflist {
  const isolation = { namespaceIsolation: true, globalNamespaces: onlyOwnNamespaceAnd?.join(",") };
  const plugin = {
    type: pluginName,
    kubeconfig,
    cniDir: recordsFolder,
    delegates: [conflist],
    ...(onlyOwnNamespaceAnd !== undefined && isolation),
  };
  return { cniVersion: conflist["cniVersion"], name: conflist["name"], plugins: [plugin] };
}

/** The kind, served, and a client with the rights that Multus has; returns its kubeconfig. */
export async function installNetworks(
  rest: Rest,
  server: { url: string; ca: string },
  folder: string,
): Promise<string> {
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await rest.apply(`${crds}/${networkAttachmentDefinitionCrd.metadata.name}`, networkAttachmentDefinitionCrd);
  const { kubeconfig } = await makeClient(rest, server, folder, {
    name: pluginName,
    namespace: "kube-system",
    rules: [
      { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
      { apiGroups: [""], resources: ["pods/status"], verbs: ["update", "patch"] },
      { apiGroups: ["", "events.k8s.io"], resources: ["events"], verbs: ["create", "update", "patch"] },
      { apiGroups: ["k8s.cni.cncf.io"], resources: ["network-attachment-definitions"], verbs: ["get"] },
    ],
  });
  return kubeconfig;
}
