// A real API server with deploy/ on it: rights, kinds, webhooks; nothing that needs an image or a cluster network.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parseAllDocuments } from "yaml";

import type { Cluster } from "../lab/cluster.ts";
import { writeKubeconfig } from "../lab/credentials.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");
const running = ["DaemonSet", "Deployment", "PodDisruptionBudget"];

/** Without the kinds that are named, and without what runs. */
export async function applyDeployment(lab: Cluster, without: readonly string[] = []): Promise<void> {
  const leftOut = new Set([...running, ...without]);
  for (const file of ["holdfast.yaml", "webhooks.yaml"]) {
    const items = parseAllDocuments(readFileSync(join(deploy, file), "utf8"))
      .map((document) => document.toJS() as { kind: string })
      .filter(({ kind }) => !leftOut.has(kind));
    await lab.kubectl(["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  }
}

/** Of the account that the controller has in a cluster. */
export async function controllerKubeconfig(lab: Cluster): Promise<string> {
  const path = "/api/v1/namespaces/kube-system/serviceaccounts/holdfast-controller/token";
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7200 } };
  const { status } = await lab.rest.create<{ status: { token: string } }>(path, request);
  return writeKubeconfig(join(lab.folder, "controller.kubeconfig"), { ...lab.access, token: status.token });
}
