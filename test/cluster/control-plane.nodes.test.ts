// The fast fixture: etcd, API server and garbage collection, without nodes.
import { statSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Cluster } from "../lab/cluster.ts";
import { Rest } from "../lab/rest.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";

let lab: Cluster;
beforeAll(async () => {
  lab = await cluster({ log: console.error });
}, coldStartTimeoutMs);
afterAll(() => lab?.stop());

const configMap = (name: string, more = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", ...more },
});
const configMaps = "/api/v1/namespaces/default/configmaps";
interface Made {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
}
const isGone = (path: string) =>
  lab.rest.get(path).then(
    () => false,
    (error: { code?: number }) => error.code === 404,
  );

test("serves the version that was built, on loopback, to kubectl", async () => {
  const { gitVersion } = await lab.rest.get<{ gitVersion: string }>("/version");
  expect(gitVersion).toBe(lab.binaries.kubernetesVersion);
  expect(new URL(lab.access.url).hostname).toBe("127.0.0.1");
  expect(await lab.kubectl(["get", "namespaces", "-o", "name"])).toContain("namespace/kube-system");
  expect(statSync(lab.kubeconfig).mode & 0o777).toBe(0o600);
});

test("its certificate is verified: another CA is refused", async () => {
  const other = await cluster();
  try {
    const stranger = new Rest({ ...lab.access, ca: other.access.ca });
    await expect(stranger.get("/version")).rejects.toThrow(/certificate/);
    stranger.close();
  } finally {
    await other.stop();
  }
});

describe("a client of few rights", () => {
  test("may do what its rules say, and nothing else", async () => {
    const client = await lab.clientFor({
      name: "reader",
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }],
    });
    const rest = new Rest(client);
    await expect(rest.get(configMaps)).resolves.toMatchObject({ kind: "ConfigMapList" });
    await expect(rest.create(configMaps, configMap("mine"))).rejects.toMatchObject({ code: 403 });
    await expect(rest.get("/api/v1/namespaces/default/secrets")).rejects.toMatchObject({ code: 403 });
    rest.close();
    expect(await lab.kubectl(["auth", "whoami"], { kubeconfig: client.kubeconfig })).toContain(
      "system:serviceaccount:default:reader",
    );
  });

  test("may be confined to one namespace", async () => {
    const client = await lab.clientFor({
      name: "tenant",
      within: "tenant",
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["*"] }],
    });
    const rest = new Rest(client);
    await expect(
      rest.create("/api/v1/namespaces/tenant/configmaps", configMap("mine", { namespace: "tenant" })),
    ).resolves.toMatchObject({ kind: "ConfigMap" });
    await expect(rest.get(configMaps)).rejects.toMatchObject({ code: 403 });
    rest.close();
  });

  test("nobody is let in without a token", async () => {
    const rest = new Rest({ ...lab.access, token: "made-up" });
    await expect(rest.get(configMaps)).rejects.toMatchObject({ code: 401 });
    rest.close();
  });
});

test("what is owned by a deleted object is collected", async () => {
  const owner = await lab.rest.create<Made>(configMaps, configMap("owner"));
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid }];
  await lab.rest.create(configMaps, configMap("owned", { ownerReferences }));
  await lab.rest.delete(`${configMaps}/owner`);
  await until(() => isGone(`${configMaps}/owned`), { what: "garbage collection" });
});

test("a deleted namespace goes, with what is in it", async () => {
  await lab.rest.create("/api/v1/namespaces", { metadata: { name: "brief" } });
  await lab.rest.create("/api/v1/namespaces/brief/configmaps", configMap("inside", { namespace: "brief" }));
  await lab.rest.delete("/api/v1/namespaces/brief");
  await until(() => isGone("/api/v1/namespaces/brief"), { what: "the namespace to go" });
});

test("killed and restarted, the API server and etcd keep what was acknowledged", async () => {
  const made = await lab.rest.create<Made>(configMaps, configMap("durable"));
  await lab.apiserver.kill();
  expect(lab.apiserver.running).toBe(false);
  await expect(lab.rest.get(`${configMaps}/durable`)).rejects.toThrow();
  await lab.etcd.kill();
  await lab.etcd.start();
  await lab.apiserver.start();
  expect((await lab.rest.get<Made>(`${configMaps}/durable`)).metadata).toMatchObject({ uid: made.metadata.uid });
});

test("a paused API server holds its requests until it is resumed", async () => {
  lab.apiserver.pause();
  let answered = false;
  const waiting = lab.rest.get("/version").then(() => (answered = true));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(answered).toBe(false);
  lab.apiserver.resume();
  await waiting;
});

test("compacted and restarted, the server has forgotten: an old continue token is answered 410", async () => {
  for (const name of ["page-1", "page-2", "page-3"]) await lab.rest.create(configMaps, configMap(name));
  const list = await lab.rest.get<{ metadata: { continue: string } }>(`${configMaps}?limit=1`);
  await lab.rest.create(configMaps, configMap("page-4"));
  await lab.compact();
  await lab.apiserver.restart();
  await expect(
    lab.rest.get(`${configMaps}?limit=1&continue=${encodeURIComponent(list.metadata.continue)}`),
  ).rejects.toMatchObject({ code: 410 });
});

test("a start that fails says why, and leaves nothing", async () => {
  const failure: unknown = await cluster({ apiserverArgs: ["--no-such-flag"] }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "EndedEarly", message: expect.stringContaining("--no-such-flag") });
});

test.each([-1, 6, 1.5])("%d nodes are refused", async (nodes) => {
  await expect(cluster({ nodes })).rejects.toThrow(RangeError);
});
