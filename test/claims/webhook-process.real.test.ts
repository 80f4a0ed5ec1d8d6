// An administrator's way, with the programs: the kind, a controller with webhooks under deploy/'s rights, the way out.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:https";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import type { Cluster } from "../lab/cluster.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { command } from "../pools/command.ts";
import { applyDeployment, controllerKubeconfig } from "./deployed.ts";
import { kubevirtCrds } from "./kubevirt/crds.ts";

const claims = "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims";
const finalizer = "holdfast.io/persistent-ip";

interface Configuration {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

describe("webhooks of a controller that is a process", { timeout: 180_000 }, () => {
  let lab: Cluster;
  let child: ChildProcess | undefined;
  const lines: { message: string; what?: string; port?: number }[] = [];
  beforeAll(async () => {
    lab = await cluster();
    await applyDeployment(lab);
    for (const crd of [networkAttachmentDefinitionCrd, ...kubevirtCrds]) {
      await lab.rest.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    }
    await lab.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
    const ipam = { type: "holdfast", range: "10.0.0.0/24" };
    const config = { cniVersion: "1.0.0", name: "blue-net", type: "bridge", allowPersistentIPs: true, ipam };
    await lab.rest.create("/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions", {
      apiVersion: "k8s.cni.cncf.io/v1",
      kind: "NetworkAttachmentDefinition",
      metadata: { name: "blue" },
      spec: { config: JSON.stringify(config) },
    });
    const networks = [{ name: "a", multus: { networkName: "blue" } }];
    await lab.rest.create("/apis/kubevirt.io/v1/namespaces/default/virtualmachines", {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachine",
      metadata: { name: "vm1" },
      spec: {
        runStrategy: "Halted",
        template: { spec: { networks, domain: { devices: { interfaces: [{ name: "a" }] } } } },
      },
    });
  }, coldStartTimeoutMs);
  afterAll(async () => {
    child?.kill("SIGKILL");
    await lab?.stop();
  }, 60_000);
  const holdfast = (...argv: string[]) => command(...argv, "--kubeconfig", lab.kubeconfig);

  test("`holdfast claims install-crd` makes the kind once", async () => {
    expect(await holdfast("claims", "install-crd", "--dry-run")).toMatchObject({
      code: 0,
      out: expect.stringContaining("would be created"),
    });
    expect(await holdfast("claims", "install-crd")).toMatchObject({
      code: 0,
      out: expect.stringContaining(": created."),
    });
    expect(await holdfast("claims", "install-crd")).toMatchObject({ out: expect.stringContaining("left as it is") });
    await until(async () => (await lab.rest.get(claims), true), { what: "the kind being served" });
  });

  test("a controller with --webhook-port is trusted under its Service's name, and answers", async () => {
    const program = join(import.meta.dirname, "..", "..", "bin", "holdfast.ts");
    const flags = ["--metrics-port", "0", "--metrics-host", "127.0.0.1", "--webhook-port", "0"];
    const kubeconfig = await controllerKubeconfig(lab);
    child = spawn(process.execPath, [program, "controller", "--kubeconfig", kubeconfig, ...flags], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let rest = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      const all = `${rest}${chunk.toString()}`.split("\n");
      rest = all.pop() ?? "";
      for (const line of all) if (line.startsWith("{")) lines.push(JSON.parse(line) as { message: string });
    });
    const port = await until(async () => lines.find(({ what }) => what === "webhooks")?.port, { what: "the webhooks" });
    const bundles = await until(
      async () => {
        const found = await Promise.all(
          ["mutating", "validating"].map((kind) =>
            lab.rest.get<Configuration>(
              `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/holdfast-claims`,
            ),
          ),
        );
        const all = found.flatMap(({ webhooks }) => webhooks.map(({ clientConfig }) => clientConfig.caBundle));
        return all.every((each) => each !== undefined) && all;
      },
      { what: "the authority in both configurations" },
    );
    expect(new Set(bundles).size).toBe(1);
    const ca = Buffer.from(bundles[0] ?? "", "base64").toString();
    const answer = await review(port, ca);
    expect(answer).toMatchObject({ response: { uid: "u", allowed: false } });
    expect(JSON.stringify(answer)).toContain("no network attachment definition");
  });

  test("`holdfast claims release-finalizers` waits for nobody who leads, and lets go when nobody does", async () => {
    const claim = () => lab.rest.get<{ metadata: { finalizers?: string[] } }>(`${claims}/vm1.a`);
    await until(async () => (await claim()).metadata.finalizers?.includes(finalizer), {
      what: "the leader, and the claim that it makes",
    });
    expect(await holdfast("claims", "release-finalizers", "--dry-run")).toMatchObject({
      code: 0,
      out: expect.stringContaining("1 claim loses the finalizer"),
    });
    expect(await holdfast("claims", "release-finalizers")).toMatchObject({ code: 1 });
    expect(await holdfast("claims", "release-finalizers", "--yes")).toMatchObject({
      code: 1,
      err: expect.stringContaining("A controller leads"),
    });
    const exited = once(child!, "exit");
    child!.kill("SIGTERM");
    expect((await exited)[0]).toBe(0);
    expect(await holdfast("claims", "release-finalizers", "--yes")).toMatchObject({
      code: 0,
      out: expect.stringContaining("1 claim was let go"),
    });
    expect((await claim()).metadata.finalizers ?? []).toEqual([]);
  });
});

/** As the API server asks: by the Service's name, trusting the bundle and nothing else. */
function review(port: number, ca: string): Promise<unknown> {
  const body = JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "u",
      kind: { group: "k8s.cni.cncf.io", version: "v1alpha1", kind: "IPAMClaim" },
      resource: { group: "k8s.cni.cncf.io", version: "v1alpha1", resource: "ipamclaims" },
      name: "x",
      namespace: "default",
      operation: "CREATE",
      userInfo: { username: "somebody", groups: [] },
      object: { metadata: { name: "x", namespace: "default" }, spec: { network: "nowhere", interface: "" } },
    },
  });
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: "127.0.0.1",
        port,
        servername: "holdfast-webhook.kube-system.svc",
        ca,
        method: "POST",
        path: "/ipamclaims?timeout=5s",
        headers: { "content-type": "application/json" },
        agent: false,
      },
      (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => resolve(JSON.parse(text)));
      },
    );
    call.on("error", reject);
    call.end(body);
  });
}
