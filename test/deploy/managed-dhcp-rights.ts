// deploy/managed-dhcp on the real server: it applies, an agent may do what it must and no more, and a controller that
// makes Deployments in the system namespace makes agents only.
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { agentDeployment } from "../../src/vmnet/agents/deployment.ts";
import { placementOf } from "../../src/vmnet/agents/placement.ts";
import type { Cluster } from "../lab/cluster.ts";
import { type Access, Rest } from "../lab/rest.ts";
import { until } from "../lab/wait.ts";
import { allowedOf, everyQuestion, mayI } from "./reviews.ts";

const folder = join(import.meta.dirname, "..", "..", "deploy", "managed-dhcp");
const system = "kube-system";
const deployments = `/apis/apps/v1/namespaces/${system}/deployments`;
const holds = `/apis/holdfast.io/v1alpha1/namespaces/${system}/holds`;
const leases = `/apis/coordination.k8s.io/v1/namespaces/${system}/leases`;
const refused = { code: 422 };

const wanted = (name: string) =>
  agentDeployment(
    {
      pool: {
        metadata: { namespace: "shop", name },
        spec: { networkName: "shop/net", ipv4Config: { cidr: "10.0.0.0/24" } },
      },
      network: { namespace: "shop", name: "net" },
      placement: placementOf("provider", []),
    },
    { systemNamespace: system, image: "localhost/holdfast:1", replicas: 2 },
  );

const hold = (name: string, labels: Record<string, string>) => ({
  apiVersion: "holdfast.io/v1alpha1",
  kind: "Hold",
  metadata: { name, labels, annotations: { "holdfast.io/pool": "shop/blue" } },
  spec: {
    domain: "vm-network:shop/net",
    address: "10.0.0.7",
    owner: { kind: "nic", uid: "u", namespace: "shop", name: "vm", port: "02:00:00:00:00:01" },
  },
});

export function managedDhcpRights(open: () => Cluster, account: (name: string) => Promise<Access>): void {
  describe("managed DHCP, where it is installed", () => {
    test("two files make it, and a second time changes nothing; a third one is for the move from Harvester", async () => {
      const apply = (...files: readonly string[]) =>
        open().kubectl(["apply", ...files.flatMap((file) => ["-f", join(folder, file)])]);
      expect(await apply("crds.yaml", "rights.yaml")).not.toMatch(/unchanged|configured/);
      expect(await apply("crds.yaml", "rights.yaml")).not.toMatch(/created/);
      await open().kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
      await open().kubectl(["create", "namespace", "harvester-system"]);
      const pods = (namespace: string) => ({ namespace, verb: "delete", group: "", resource: "pods" });
      const controller = new Rest(await account("holdfast-controller"));
      expect(await mayI(controller, pods("harvester-system"))).toBe(false);
      await apply("takeover.yaml");
      expect(await mayI(controller, pods("harvester-system"))).toBe(true);
      expect(await mayI(controller, pods(system))).toBe(false);
      controller.close();
    });

    test("an agent may do exactly this", async () => {
      const questions = await everyQuestion(open().rest, [system, "tenant"]);
      const allowed = await allowedOf(await account("holdfast-agent"), questions);
      const found = allowed
        .filter(({ resource }) => !resource.startsWith("self"))
        .map(({ verb, group, resource, namespace }) => `${verb} ${group}/${resource} in ${namespace}`);
      expect(found.sort()).toEqual(
        [
          ...[system, "tenant"].flatMap((place) => [
            ...["get", "list", "watch"].map((verb) => `${verb} network.harvesterhci.io/ippools in ${place}`),
            ...["create", "patch"].map((verb) => `${verb} /events in ${place}`),
          ]),
          ...["get", "list", "watch", "patch"].map((verb) => `${verb} holdfast.io/holds in ${system}`),
          ...["get", "create", "update"].map((verb) => `${verb} coordination.k8s.io/leases in ${system}`),
        ].sort(),
      );
    });

    test.each([
      ["network.harvesterhci.io", "ippools", "delete", "tenant", true],
      ["network.harvesterhci.io", "ippools", "create", "tenant", false],
      ["network.harvesterhci.io", "ippools/status", "update", "tenant", true],
      ["network.harvesterhci.io", "virtualmachinenetworkconfigs", "create", "tenant", true],
      ["network.harvesterhci.io", "virtualmachinenetworkconfigs/status", "update", "tenant", true],
      ["k8s.cni.cncf.io", "network-attachment-definitions", "patch", "tenant", true],
      ["k8s.cni.cncf.io", "network-attachment-definitions", "delete", "tenant", false],
      ["apps", "deployments", "create", system, true],
      ["apps", "deployments", "create", "tenant", false],
      ["policy", "poddisruptionbudgets", "update", system, true],
      ["kubevirt.io", "virtualmachines", "patch", "tenant", true],
      ["kubevirt.io", "virtualmachines", "update", "tenant", false],
      ["", "secrets", "get", system, false],
    ])("the controller: %s/%s %s in %s: %s", async (group, resource, verb, namespace, isAllowed) => {
      const controller = new Rest(await account("holdfast-controller"));
      expect(await mayI(controller, { group, resource, verb, namespace })).toBe(isAllowed);
      controller.close();
    });

    test("a controller makes Deployments of agents, and no others; the server takes ours whole", async () => {
      const controller = new Rest(await account("holdfast-controller"));
      const dry = `${deployments}?dryRun=All&fieldValidation=Strict`;
      const typed = { apiVersion: "apps/v1", kind: "Deployment" };
      /** The server learns of a policy within seconds. */
      const plain = { ...typed, ...wanted("plain"), metadata: { name: "plain" } };
      await until(async () => !(await isMade(controller, dry, plain)), { what: "the policy to be in force" });

      await controller.create(`${deployments}?fieldValidation=Strict`, { ...typed, ...wanted("blue") });
      const changed = (change: (pod: Record<string, unknown>, agent: Record<string, unknown>) => void) => {
        const object = structuredClone(wanted("red"));
        change(object.spec.template.spec, object.spec.template.spec.containers[0]!);
        return { ...typed, ...object };
      };
      expect(
        await isMade(
          controller,
          dry,
          changed(() => {}),
        ),
      ).toBe(true);
      const context = { allowPrivilegeEscalation: false };
      for (const bad of [
        changed((pod) => void (pod["serviceAccountName"] = "default")),
        changed((pod) => void (pod["hostNetwork"] = true)),
        changed((pod) => void (pod["hostPID"] = true)),
        changed((pod) => void (pod["volumes"] = [{ name: "state", hostPath: { path: "/" } }])),
        changed((_, agent) => void (agent["securityContext"] = { privileged: true })),
        changed((_, agent) => void delete agent["securityContext"]),
        changed((_, agent) => void (agent["securityContext"] = { ...context, capabilities: { add: ["SYS_ADMIN"] } })),
        changed((pod) => void (pod["initContainers"] = [{ name: "i", image: "i" }])),
      ])
        await expect(controller.create(dry, bad)).rejects.toMatchObject(refused);
      // The one of the installation is not an agents'.
      await expect(controller.delete(`${deployments}/holdfast-controller`)).rejects.toMatchObject(refused);
      await controller.delete(`${deployments}/shop-blue-agent`);
      controller.close();
    });

    test("of a VM the controller writes annotations only", async () => {
      const machines = "/apis/kubevirt.io/v1/namespaces/tenant/virtualmachines";
      const metadata = { name: "vm" };
      const kind = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine" };
      await open().rest.create(machines, {
        ...kind,
        metadata,
        spec: { runStrategy: "Halted", template: { spec: {} } },
      });
      const controller = new Rest(await account("holdfast-controller"));
      const start = { spec: { runStrategy: "Always" } };
      await until(() => isRefused(controller.patch(`${machines}/vm?dryRun=All`, start)), { what: "the policy" });
      const annotations = { "holdfast.io/network-config-declined": "1" };
      await controller.patch(`${machines}/vm`, { metadata: { annotations } });
      for (const change of [
        start,
        { metadata: { labels: { a: "b" } } },
        { metadata: { finalizers: ["example.com/stuck"] } },
      ])
        await expect(controller.patch(`${machines}/vm`, change)).rejects.toMatchObject(refused);
      controller.close();
    });

    test("an agent marks a hold of a VM network, and moves none; it writes Leases of server addresses only", async () => {
      await open().rest.create(holds, hold("vm", { "holdfast.io/vm-network": "1" }));
      await open().rest.create(holds, hold("pods", {}));
      const agent = new Rest(await account("holdfast-agent"));
      const mark = { metadata: { annotations: { "holdfast.io/quarantined-until": "2026-11-18T04:00:00.000Z probe" } } };
      await until(() => isRefused(agent.patch(`${holds}/pods`, mark)), { what: "the policy to be in force" });
      await agent.patch(`${holds}/vm`, mark);
      await agent.patch(`${holds}/vm`, { metadata: { annotations: { "holdfast.io/quarantined-until": null } } });
      for (const change of [
        { spec: { address: "10.0.0.8" } },
        { spec: { owner: { uid: "thief" } } },
        { metadata: { labels: { "holdfast.io/cooling": "true" } } },
        { metadata: { annotations: { "holdfast.io/pool": "shop/red" } } },
        { metadata: { annotations: { "holdfast.io/pool": null } } },
        { metadata: { annotations: { "holdfast.io/users": "[]" } } },
        { metadata: { finalizers: ["example.com/stuck"] } },
      ])
        await expect(agent.patch(`${holds}/vm`, change)).rejects.toMatchObject(refused);
      await expect(agent.create(leases, { metadata: { name: "kube-scheduler-3" } })).rejects.toMatchObject(refused);
      await agent.create(leases, { metadata: { name: "dhcp.shop.blue" } });
      agent.close();
    });
  });
}

async function isMade(rest: Rest, path: string, object: object): Promise<boolean> {
  return !(await isRefused(rest.create(path, object)));
}

async function isRefused(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return false;
  } catch (error) {
    if ((error as { code?: number }).code === 422) return true;
    throw error;
  }
}
