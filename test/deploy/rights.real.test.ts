// deploy/holdfast.yaml on the real server: it applies, and its accounts may do what the tables here say, nothing else.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import { kubevirtCrds } from "../claims/kubevirt/crds.ts";
import type { Cluster } from "../lab/cluster.ts";
import { type Access, Rest } from "../lab/rest.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { managedDhcpRights } from "./managed-dhcp-rights.ts";
import { allowedOf, everyQuestion, mayI } from "./reviews.ts";
import { webhookRights } from "./webhook-rights.ts";

const file = join(import.meta.dirname, "..", "..", "deploy", "holdfast.yaml");
const claimsFile = join(import.meta.dirname, "..", "..", "deploy", "ipamclaims", "k8s.cni.cncf.io_ipamclaims.yaml");
/** Not ours, but read by both: without them the server would not know what is asked about. */
const kubevirt = {
  ...kubevirtCrds[0],
  metadata: { name: "kubevirts.kubevirt.io" },
  spec: {
    ...(kubevirtCrds[0]?.["spec"] as object),
    names: { plural: "kubevirts", singular: "kubevirt", kind: "KubeVirt" },
  },
};

let lab: Cluster;
let first: string;
beforeAll(async () => {
  lab = await cluster({ log: console.error });
  first = await lab.kubectl(["apply", "-f", file]);
  for (const crd of [networkAttachmentDefinitionCrd, ...kubevirtCrds, kubevirt]) {
    await lab.rest.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
  }
  await lab.kubectl(["apply", "-f", claimsFile]);
  await lab.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
  await lab.rest.create("/api/v1/namespaces", { metadata: { name: "tenant" } });
}, coldStartTimeoutMs);
afterAll(() => lab?.stop());

async function account(name: string): Promise<Access> {
  const path = `/api/v1/namespaces/kube-system/serviceaccounts/${name}/token`;
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
  const { status } = await lab.rest.create<{ status: { token: string } }>(path, request);
  return { ...lab.access, token: status.token };
}

/** As a kubelet gets it for a pod of that node. */
async function boundAccount(node: string): Promise<Access> {
  const pods = "/api/v1/namespaces/kube-system/pods";
  await lab.rest.create("/api/v1/nodes", { metadata: { name: node } });
  const spec = { serviceAccountName: "holdfast-node", nodeName: node, containers: [{ name: "c", image: "i" }] };
  const pod = await lab.rest.create<{ metadata: { uid: string } }>(pods, { metadata: { name: "daemon" }, spec });
  const boundObjectRef = { kind: "Pod", apiVersion: "v1", name: "daemon", uid: pod.metadata.uid };
  const path = "/api/v1/namespaces/kube-system/serviceaccounts/holdfast-node/token";
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { boundObjectRef } };
  const { status } = await lab.rest.create<{ status: { token: string } }>(path, request);
  return { ...lab.access, token: status.token };
}

/** A generation rises with each change of the spec. Accounts and rights have none; their tables are below. */
async function generations(): Promise<string> {
  const format = "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.generation}{'\\n'}{end}";
  return lab.kubectl(["get", "-f", file, "-o", format]);
}

test("one file makes all of it, and a second time changes nothing", async () => {
  const objects = parseAllDocuments(readFileSync(file, "utf8"));
  expect(first.trim().split("\n")).toHaveLength(objects.length);
  expect(first).not.toMatch(/unchanged|configured/);
  const before = await generations();
  expect(before).toContain("DaemonSet/holdfast-node 1\n");
  await lab.kubectl(["apply", "-f", file]);
  expect(await generations()).toEqual(before);
});

test("what the server holds is what was sent: no field that it does not know", async () => {
  const printed = await lab.kubectl(["apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", file]);
  expect(printed).toContain("daemonset.apps/holdfast-node serverside-applied");
  expect(printed).toContain("deployment.apps/holdfast-controller serverside-applied");
});

const read = ["get", "list", "watch"];
const write = ["create", "update", "patch", "delete"];
/** Everybody who has logged in may: the server's own role system:basic-user. */
const everybody: Grants = {
  "authorization.k8s.io/selfsubjectaccessreviews": ["create"],
  "authorization.k8s.io/selfsubjectrulesreviews": ["create"],
  "authentication.k8s.io/selfsubjectreviews": ["create"],
};
/** Group and resource -> verbs. */
type Grants = Readonly<Record<string, readonly string[]>>;
interface Table {
  readonly everywhere: Grants;
  readonly inSystemNamespace: Grants;
}
const tables: Readonly<Record<string, Table>> = {
  "holdfast-node": {
    everywhere: {
      "/pods": read,
      "/events": ["create", "patch"],
      "/namespaces": ["get"],
      "/nodes": ["list"],
      "whereabouts.cni.cncf.io/ippools": ["get", "list", "create", "patch"],
      "whereabouts.cni.cncf.io/overlappingrangeipreservations": ["get", "list", ...write],
      "holdfast.io/holds": ["get", "list", ...write],
      "whereabouts.cni.cncf.io/nodeslicepools": ["get"],
      "k8s.cni.cncf.io/ipamclaims": read,
      "k8s.cni.cncf.io/ipamclaims/status": ["patch"],
      "kubevirt.io/virtualmachines": ["get"],
      "kubevirt.io/virtualmachineinstances": ["get"],
    },
    inSystemNamespace: { "/configmaps": ["get"], "coordination.k8s.io/leases": [...read, "create", "patch"] },
  },
  "holdfast-controller": {
    everywhere: {
      "/pods": read,
      "/nodes": read,
      "/events": ["create", "patch"],
      "apps/statefulsets": read,
      "apps/daemonsets": ["list"],
      "apps/deployments": ["list"],
      "/namespaces": read,
      "k8s.cni.cncf.io/network-attachment-definitions": read,
      "k8s.cni.cncf.io/ipamclaims": [...read, ...write],
      "k8s.cni.cncf.io/ipamclaims/status": ["update", "patch"],
      "admissionregistration.k8s.io/mutatingwebhookconfigurations": ["list"],
      "kubevirt.io/virtualmachines": read,
      "kubevirt.io/virtualmachineinstances": read,
      "kubevirt.io/kubevirts": ["list", "watch"],
      "whereabouts.cni.cncf.io/ippools": [...read, "create", "patch", "delete"],
      "whereabouts.cni.cncf.io/ippools/status": ["patch"],
      "whereabouts.cni.cncf.io/nodeslicepools": [...read, "create", "update", "delete"],
      // and nodeslicepools/status with the definition of whereabouts' fork: ours has no such resource to ask about
      "whereabouts.cni.cncf.io/overlappingrangeipreservations": [...read, ...write],
      "holdfast.io/holds": [...read, ...write],
    },
    inSystemNamespace: {
      "/configmaps": ["get", "list", "create", "update", "delete"],
      "coordination.k8s.io/leases": [...read, "create", "patch", "delete"],
    },
  },
};
const registrations = "admissionregistration.k8s.io/mutatingwebhookconfigurations";
const clusterWide = new Set(["/nodes", "/namespaces", registrations, ...Object.keys(everybody)]);

function lines({ everywhere, inSystemNamespace }: Table): string[] {
  const every = Object.entries({ ...everywhere, ...everybody }).flatMap(([resource, verbs]) =>
    (clusterWide.has(resource) ? [""] : ["kube-system", "tenant"]).flatMap((place) =>
      verbs.map((verb) => `${verb} ${resource} in ${place}`),
    ),
  );
  const system = Object.entries(inSystemNamespace).flatMap(([resource, verbs]) =>
    verbs.map((verb) => `${verb} ${resource} in kube-system`),
  );
  return [...every, ...system].sort();
}

describe.each(Object.entries(tables))("%s", (name, table) => {
  test("may do exactly this", async () => {
    const questions = await everyQuestion(lab.rest, ["kube-system", "tenant"]);
    expect(questions.length).toBeGreaterThan(1000);
    const allowed = await allowedOf(await account(name), questions);
    const found = allowed.map(({ verb, group, resource, namespace }) => `${verb} ${group}/${resource} in ${namespace}`);
    expect(found.sort()).toEqual(lines(table));
  });
});

describe("single objects of the system namespace", () => {
  test.each([
    ["holdfast-node", "watch", "", "configmaps", "holdfast-state", true],
    ["holdfast-node", "list", "", "configmaps", "holdfast-state", true],
    ["holdfast-node", "watch", "", "configmaps", "kubeadm-config", false],
    ["holdfast-node", "get", "coordination.k8s.io", "leases", "whereabouts", true],
    ["holdfast-node", "update", "coordination.k8s.io", "leases", "whereabouts", false],
    ["holdfast-node", "delete", "coordination.k8s.io", "leases", "holdfast-controller", false],
    ["holdfast-controller", "update", "coordination.k8s.io", "leases", "holdfast-controller", true],
    ["holdfast-controller", "get", "coordination.k8s.io", "leases", "holdfast-controller", true],
    ["holdfast-controller", "get", "coordination.k8s.io", "leases", "whereabouts", true],
    ["holdfast-controller", "update", "coordination.k8s.io", "leases", "whereabouts", false],
    ["holdfast-controller", "update", "coordination.k8s.io", "leases", "kube-scheduler", false],
  ])("%s may %s %s/%s %s: %s", async (who, verb, group, resource, name, isAllowed) => {
    const rest = new Rest(await account(who));
    expect(await mayI(rest, { namespace: "kube-system", verb, group, resource, name })).toBe(isAllowed);
    rest.close();
  });

  test("the daemon's watch of holdfast-state, as it makes it, is answered", async () => {
    const rest = new Rest(await account("holdfast-node"));
    const path = "/api/v1/namespaces/kube-system/configmaps";
    const own = await rest.get<{ kind: string }>(`${path}?fieldSelector=metadata.name%3Dholdfast-state`);
    expect(own.kind).toBe("ConfigMapList");
    await expect(rest.get(path)).rejects.toMatchObject({ code: 403 });
    rest.close();
  });
});

describe("what is written of Leases", () => {
  const path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  const lease = (name: string) => ({ metadata: { name } });
  /** The server learns of a policy within seconds. */
  const inForce = async (rest: Rest) => {
    for (let tries = 0; tries < 100; tries++) {
      const made = await rest.create(`${path}?dryRun=All`, lease("kube-scheduler-2")).then(
        () => true,
        () => false,
      );
      if (!made) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };

  test("a node writes Leases of nodes only, the controller its own too", async () => {
    const node = new Rest(await account("holdfast-node"));
    const controller = new Rest(await account("holdfast-controller"));
    await inForce(node);
    await inForce(controller);
    const refused = { code: 422 };
    await expect(node.create(path, lease("kube-scheduler-2"))).rejects.toMatchObject(refused);
    await expect(node.create(path, lease("holdfast-controller"))).rejects.toMatchObject(refused);
    await expect(controller.create(path, lease("kube-scheduler-2"))).rejects.toMatchObject(refused);
    // A token that says no node: the one of a test, or of a server before 1.32.
    expect(await node.create(path, lease("holdfast-node-n1"))).toMatchObject(lease("holdfast-node-n1"));
    expect(await controller.create(path, lease("holdfast-node-n2"))).toMatchObject(lease("holdfast-node-n2"));
    expect(await controller.create(path, lease("holdfast-controller"))).toMatchObject(lease("holdfast-controller"));
    node.close();
    controller.close();
  });

  test("a token that says its node writes the Lease of that node", async () => {
    const bound = await boundAccount("n7");
    const node = new Rest(bound);
    await inForce(node);
    await expect(node.create(path, lease("holdfast-node-n8"))).rejects.toMatchObject({ code: 422 });
    expect(await node.create(path, lease("holdfast-node-n7"))).toMatchObject(lease("holdfast-node-n7"));
    node.close();
  });
});

test("a namespace with pools of its own takes one binding more", async () => {
  const ask = { namespace: "tenant", group: "", resource: "configmaps", verb: "update" };
  const rest = new Rest(await account("holdfast-controller"));
  expect(await mayI(rest, ask)).toBe(false);
  await lab.kubectl([
    "create",
    "rolebinding",
    "holdfast-pools",
    "--namespace=tenant",
    "--clusterrole=holdfast-pool-namespace",
    "--serviceaccount=kube-system:holdfast-node",
    "--serviceaccount=kube-system:holdfast-controller",
  ]);
  expect(await mayI(rest, ask)).toBe(true);
  rest.close();
});

webhookRights(() => lab, account);
managedDhcpRights(() => lab, account);

test("the kind of claims applies as it is shipped, and is no part of the installation", async () => {
  expect(readFileSync(file, "utf8")).not.toContain("ipamclaims.k8s.cni.cncf.io");
  const printed = await lab.kubectl([
    "apply",
    "--server-side",
    "--force-conflicts",
    "--validate=strict",
    "-f",
    claimsFile,
  ]);
  expect(printed).toContain("ipamclaims.k8s.cni.cncf.io serverside-applied");
});
