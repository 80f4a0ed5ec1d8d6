// The webhooks of managed DHCP on the real kube-apiserver, with just the rights that deploy/ gives.
import { definitionOf } from "../../src/api/definition.ts";
import { managedDhcpKinds } from "../../src/api/kinds.ts";
import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { applyDeployment, controllerKubeconfig } from "../claims/deployed.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { vmnetWebhookStories } from "./webhook-suite.ts";

/** They lead to the test's own server instead. */
const configurations = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
const everything = ["get", "list", "create", "update", "patch", "delete"];

const group = "network.harvesterhci.io";
const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "t-configs" } };
const rights = [
  {
    ...rbac,
    kind: "ClusterRole",
    rules: [{ apiGroups: [group], resources: ["virtualmachinenetworkconfigs"], verbs: ["create"] }],
  },
  {
    ...rbac,
    kind: "ClusterRoleBinding",
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "t-configs" },
    subjects: [{ kind: "ServiceAccount", name: "holdfast-controller", namespace: "kube-system" }],
  },
];

async function connected(path: string): Promise<Connection> {
  return connect(await loadKubeconfig({ path, context: undefined }));
}

vmnetWebhookStories(
  "the real kube-apiserver",
  async () => {
    const lab = await cluster({ definitions: managedDhcpKinds.map(definitionOf) });
    await applyDeployment(lab, configurations);
    const rules = [
      {
        apiGroups: [group],
        resources: ["ippools", "virtualmachinenetworkconfigs"],
        verbs: everything,
      },
      { apiGroups: ["k8s.cni.cncf.io"], resources: ["network-attachment-definitions"], verbs: everything },
    ];
    // What the controller writes for VMs is deploy/managed-dhcp's to allow; here it is one create.
    await lab.kubectl(["apply", "-f", "-"], {
      input: JSON.stringify({ apiVersion: "v1", kind: "List", items: rights }),
    });
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
