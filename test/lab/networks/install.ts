// Puts the delegating plugin into a cluster: its kind, its rights, its launcher, its place at the end of a conflist.
import { fileURLToPath } from "node:url";

import { networkAttachmentDefinitionCrd } from "../../../src/api/network-attachment-definition.ts";
import { makeClient } from "../client.ts";
import type { Conflist } from "../node-files.ts";
import type { Rest } from "../rest.ts";

export const pluginName = "lab-networks";

export interface NetworksOptions {
  /** A pod may only name definitions of its own namespace and of these. Without it: of any namespace. */
  readonly onlyOwnNamespaceAnd?: readonly string[];
}

/** The shell is there because the runtime wants an executable, and Node's path is not the same everywhere. */
export function launcher(): string {
  const main = fileURLToPath(import.meta.resolve("./main.ts"));
  return `#!/bin/sh\nexec '${process.execPath}' '${main}'\n`;
}

export function withNetworks(conflist: Conflist, kubeconfig: string, options: NetworksOptions): Conflist {
  const plugins = conflist["plugins"];
  if (!Array.isArray(plugins)) throw new Error("a conflist has a list of plugins");
  return { ...conflist, plugins: [...(plugins as unknown[]), { type: pluginName, kubeconfig, ...options }] };
}

/** The kind, served, and a client that may read it and pods, and write a pod's status; returns its kubeconfig. */
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
      { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
      { apiGroups: ["k8s.cni.cncf.io"], resources: ["network-attachment-definitions"], verbs: ["get"] },
    ],
  });
  return kubeconfig;
}
