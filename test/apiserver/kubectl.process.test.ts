// The real kubectl against the embedded API: every one found, among them Debian's old one and that of tools/kube.
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import type { Api } from "../../src/apiserver/api.ts";
import { serve } from "../../src/apiserver/serve/server.ts";
import type { Served } from "../../src/apiserver/serve/server.ts";
import { unpackedFolder } from "../../tools/bootstrap/unpacked.ts";
import { ensureKubeBinaries } from "../../tools/kube/build.ts";

/** Debian's 1.20, the one that tools/kube builds, and the machine's own if there is one. */
const built = await ensureKubeBinaries({ only: ["kubectl"] });
const kubectls = [
  join(unpackedFolder("kubernetes-client"), "usr/bin/kubectl"),
  built.path("kubectl"),
  "/usr/bin/kubectl",
]
  .filter((path, index) => index < 2 || existsSync(path))
  .map((path) => realpathSync(path));

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.kubectl.test}
spec:
  group: kubectl.test
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        description: A widget is a thing of some size.
        properties:
          spec:
            type: object
            description: What is wanted of it.
            properties: {size: {type: integer, minimum: 1, default: 3, description: How large it shall be.}}
`;
/** Block style, since older kubectls take a brace for the start of JSON. */
const widget = (spec: string) => `apiVersion: kubectl.test/v1
kind: Widget
metadata: {name: w}
spec: ${spec}
`;

let folder: string;
let api: Api;
let served: Served;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-kubectl-"));
  api = openApi({ path: join(folder, "api.db") });
  served = await serve(api, { kubeconfigPath: join(folder, "kubeconfig") });
});

afterAll(async () => {
  await served.close();
  api.close();
  rmSync(folder, { recursive: true });
});

describe.each([...new Set(kubectls)])("%s", (binary) => {
  /** A home of its own, so that the discovery cache of one version is not read by another. */
  const run = (args: string, input = ""): Promise<{ output: string; code: number }> =>
    new Promise((resolve) => {
      const env = { PATH: process.env["PATH"], HOME: join(folder, `home-${kubectls.indexOf(binary)}`) };
      const options = { env: { ...env, KUBECONFIG: join(folder, "kubeconfig") }, timeout: 60_000 };
      const child = execFile(binary, args.split(" "), options, (error, stdout, stderr) => {
        resolve({ output: stdout + stderr, code: error === null ? 0 : Number(error.code ?? 1) });
      });
      child.stdin?.end(input);
    });
  const works = async (args: string, input = ""): Promise<string> => {
    const { output, code } = await run(args, input);
    expect(code, `kubectl ${args}: ${output}`).toBe(0);
    return output;
  };

  beforeAll(() => works("create namespace k"));
  afterAll(() => works("delete namespace k"));

  test("create, get, label, annotate, patch, describe, delete", async () => {
    await works("-n k create configmap a --from-literal=k=v");
    await works("-n k create secret generic s --from-literal=p=q");
    await works("-n k label configmap a x=y");
    await works("-n k annotate configmap a note=1");
    await works('-n k patch configmap a -p {"data":{"k2":"v2"}}');
    await works('-n k patch configmap a --type=json -p [{"op":"remove","path":"/data/k"}]');
    expect(await works("-n k get configmap -l x=y")).toMatch(/^NAME +DATA +AGE\na +1 +/);
    expect(await works("-n k get configmap a -o jsonpath={.data}")).toBe('{"k2":"v2"}');
    expect(await works("-n k describe configmap a")).toMatch(/k2:\n-+\nv2/);
    expect(await works("-n k get secret s -o jsonpath={.data.p}")).toBe("cQ==");
    await works("-n k delete configmap a");
    expect((await run("-n k get configmap a")).output).toContain('configmaps "a" not found');
  });

  test("pods, deployments and what describes them", async () => {
    await works("-n k run p --image=busybox");
    await works("-n k create deployment d --image=busybox");
    expect(await works("-n k get pods -o wide")).toMatch(/p +0\/1 +Pending +0 /);
    expect(await works("-n k describe pod p")).toMatch(/QoS Class: +BestEffort/);
    expect(await works("-n k get deployments")).toMatch(/d +0\/1 +0 +0 /);
    await works("-n k set image deployment/d busybox=busybox:2");
    expect(await works("-n k get deployment d -o jsonpath={.spec.template.spec.containers[0].image}")).toBe(
      "busybox:2",
    );
    await works("-n k delete pods --all");
  });

  test("apply of a definition and its objects, by the client and by the server", async () => {
    await works("apply -f -", definition);
    await works("wait --for=condition=Established crd/widgets.kubectl.test --timeout=30s");
    expect(await works("-n k apply -f -", widget("{}"))).toContain("created");
    expect(await works("-n k get wd")).toMatch(/NAME +SIZE\nw +3/);
    expect(await works("-n k apply -f -", widget("{size: 7}"))).toContain("configured");
    expect(await works("-n k apply -f -", widget("{size: 7}"))).toContain("unchanged");
    expect((await run("-n k apply -f -", widget("{size: 0}"))).output).toContain(
      "should be greater than or equal to 1",
    );
    expect((await run("-n k apply -f -", widget("{siz: 7}"))).output).toContain("unknown field");
    await works("-n k apply --server-side --force-conflicts -f -", widget("{size: 8}"));
    expect(await works("-n k apply --dry-run=server -f -", widget("{size: 9}"))).toContain("server dry run");
    expect(await works("-n k get wd w -o jsonpath={.spec.size}")).toBe("8");
    await works("delete crd widgets.kubectl.test");
  });

  test("explain", async () => {
    expect(await works("explain pod.spec.containers")).toContain("imagePullPolicy");
    await works("apply -f -", definition);
    const text = await works("explain widgets.spec");
    expect(text).toContain("What is wanted of it.");
    expect(text).toMatch(/size\s+<integer>/);
    await works("delete crd widgets.kubectl.test");
  });

  test("watch", async () => {
    const watching = run("-n k get configmaps -w --request-timeout=5s");
    await sleep(1500);
    await works("-n k create configmap seen --from-literal=k=v");
    expect((await watching).output).toMatch(/seen +1 /);
  });

  test("discovery, versions and access", async () => {
    expect(await works("api-resources")).toMatch(/customresourcedefinitions +crd,crds/);
    expect(await works("api-versions")).toContain("coordination.k8s.io/v1");
    expect(await works("version")).toContain("holdfast");
    expect(await works("auth can-i create pods")).toContain("yes");
  });
});
