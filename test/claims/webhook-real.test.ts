// The webhooks on the real kube-apiserver, with the rights that deploy/ gives the controller and no others, and with real garbage collection.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parseAllDocuments } from "yaml";

import { connect, type Connection } from "../../src/kube/connect.ts";
import { loadKubeconfig } from "../../src/kube/kubeconfig.ts";
import type { Cluster } from "../lab/cluster.ts";
import { writeKubeconfig } from "../lab/credentials.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { webhookStories } from "./webhook-suite.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");

/** All but what needs a cluster network, or an image: the configurations lead to the test's own server instead. */
const leftOut = new Set([
  "DaemonSet",
  "Deployment",
  "PodDisruptionBudget",
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
]);

async function applyDeployment(lab: Cluster): Promise<void> {
  for (const file of ["holdfast.yaml", "webhooks.yaml"]) {
    const items = parseAllDocuments(readFileSync(join(deploy, file), "utf8"))
      .map((document) => document.toJS() as { kind: string })
      .filter(({ kind }) => !leftOut.has(kind));
    await lab.kubectl(["apply", "-f", "-"], { input: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
  }
}

async function connected(path: string): Promise<Connection> {
  return connect(await loadKubeconfig({ path, context: undefined }));
}

async function controllerKubeconfig(lab: Cluster): Promise<string> {
  const path = "/api/v1/namespaces/kube-system/serviceaccounts/holdfast-controller/token";
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7200 } };
  const { status } = await lab.rest.create<{ status: { token: string } }>(path, request);
  return writeKubeconfig(join(lab.folder, "controller.kubeconfig"), { ...lab.access, token: status.token });
}

webhookStories(
  "the real kube-apiserver",
  async () => {
    const lab = await cluster();
    await applyDeployment(lab);
    const rules = [{ apiGroups: ["k8s.cni.cncf.io"], resources: ["ipamclaims"], verbs: ["get", "list", "create", "update", "patch", "delete", "deletecollection"] }];
    const { kubeconfig } = await lab.clientFor({ name: "tenant", rules });
    const connections = await Promise.all(
      [lab.kubeconfig, await controllerKubeconfig(lab), kubeconfig].map(connected),
    );
    const [admin, controller, tenant] = connections.map(({ client }) => client);
    return {
      admin: admin!,
      controller: controller!,
      tenant: tenant!,
      hasRights: true,
      stop: async () => {
        for (const connection of connections) await connection[Symbol.asyncDispose]();
        await lab.stop();
      },
    };
  },
  coldStartTimeoutMs,
);
