// The webhooks on the real kube-apiserver, with just the rights that deploy/ gives, and with real garbage collection.
import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { applyDeployment, controllerKubeconfig } from "./deployed.ts";
import { webhookStories } from "./webhook-suite.ts";

/** They lead to the test's own server instead. */
const configurations = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

async function connected(path: string): Promise<Connection> {
  return connect(await loadKubeconfig({ path, context: undefined }));
}

webhookStories(
  "the real kube-apiserver",
  async () => {
    const lab = await cluster();
    await applyDeployment(lab, configurations);
    const rules = [
      {
        apiGroups: ["k8s.cni.cncf.io"],
        resources: ["ipamclaims"],
        verbs: ["get", "list", "create", "update", "patch", "delete", "deletecollection"],
      },
    ];
    const { kubeconfig } = await lab.clientFor({ name: "tenant", rules });
    const connections = await Promise.all([lab.kubeconfig, await controllerKubeconfig(lab), kubeconfig].map(connected));
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
