// The runtime of src/kube against a server: what no server in memory can show. Independent of which server it is.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import type { AdmissionRequest } from "../../../src/kube/admission-review.ts";
import { AdmissionServer } from "../../../src/kube/admission.ts";
import { connect, type Connection } from "../../../src/kube/connect.ts";
import { bearer, fixedCredentials } from "../../../src/kube/credentials.ts";
import { isApiError } from "../../../src/kube/errors.ts";
import { EventRecorder } from "../../../src/kube/events.ts";
import { addFinalizer, removeFinalizer } from "../../../src/kube/finalizer.ts";
import { Informer, type InformerEvent } from "../../../src/kube/informer.ts";
import { loadKubeconfig } from "../../../src/kube/kubeconfig.ts";
import { Elector } from "../../../src/kube/leader.ts";
import type { AnyObject, KubeObject } from "../../../src/kube/meta.ts";
import { defineResource } from "../../../src/kube/resource.ts";
import { KubeClient } from "../../../src/kube/rest.ts";
import { caBundle } from "../../../src/kube/serving-certificate.ts";
import { WebhookCertificate } from "../../../src/kube/webhook-certificate.ts";
import { trustAuthority, webhookConfigurations } from "../../../src/kube/webhook-configuration.ts";

export interface RuntimeServer {
  /** Path of a kubeconfig whose user may do everything. */
  readonly kubeconfig: string;
  /** Stops the API server and starts it again on the same data; resolves when it answers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** Makes the server forget old versions, so that a watch from one is answered 410. A restart does, where this is left out. */
  compact?(): Promise<void>;
  /** Where the server reaches this process. */
  readonly webhookHost?: string;
}

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}
const configMaps = defineResource<ConfigMap>({
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
});
const namespaces = defineResource({
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
});
const events = defineResource<AnyObject>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});

/** A server that starts, on a busy machine. */
const patient = { timeout: 60_000, interval: 50 };

export function kubeRuntimeSuite(name: string, start: () => Promise<RuntimeServer>): void {
  describe(`the runtime on ${name}`, () => {
    let server: RuntimeServer;
    let connection: Connection;
    let client: KubeClient;
    let count = 0;

    beforeAll(async () => {
      server = await start();
      connection = connect(await loadKubeconfig({ path: server.kubeconfig }));
      client = connection.client;
    });
    afterAll(async () => {
      await connection[Symbol.asyncDispose]();
      await server.stop();
    });

    /** A namespace of the test's own. */
    const space = async (labels: Record<string, string> = {}): Promise<string> => {
      const made = `runtime-${process.pid}-${Date.now()}-${count++}`;
      await client.create(namespaces, { metadata: { name: made, labels } });
      return made;
    };
    const following = (namespace: string, through = client) => follow(through, namespace);

    test("informer: through a restart of the API server it loses nothing and tells nothing twice", async () => {
      const namespace = await space();
      for (const each of ["a", "b", "c"]) await client.create(configMaps, map(namespace, each));
      await using informed = await following(namespace);
      await client.update(configMaps, map(namespace, "a", "2"));
      await server.restart();
      await vi.waitFor(() => client.delete(configMaps, { namespace, name: "b" }), patient);
      await client.create(configMaps, map(namespace, "d"));
      await vi.waitFor(() => expect(informed.state()).toEqual({ a: "2", c: "1", d: "1" }), patient);
      const adds = informed.story.filter((each) => each.startsWith("add"));
      expect(new Set(adds).size).toBe(adds.length);
      expect(informed.story).toContain("update a 1 -> 2");
      expect(informed.story).toContain("delete b");
    });

    test("informer: a version that the server has forgotten (410) leads to a new list", async () => {
      const namespace = await space();
      await client.create(configMaps, map(namespace, "a"));
      await (server.compact?.() ?? server.restart());
      await vi.waitFor(() => client.get(namespaces, { name: namespace }), patient);
      const gone = Array.fromAsync(client.watch(configMaps, { namespace, resourceVersion: "1", timeoutSeconds: 5 }));
      await expect(gone).rejects.toMatchObject({ code: "gone" });
      // The same within an informer: its first watch is sent with the old version.
      let aged = false;
      const { transport } = connection;
      const ageing = new KubeClient({
        transport: (request) => {
          if (aged || !request.path.includes("watch=true")) return transport(request);
          aged = true;
          return transport({ ...request, path: request.path.replace(/resourceVersion=\d+/, "resourceVersion=1") });
        },
      });
      await using informed = await following(namespace, ageing);
      await client.create(configMaps, map(namespace, "b"));
      await vi.waitFor(() => expect(informed.state()).toEqual({ a: "1", b: "1" }), patient);
      expect(informed.errors.some((error) => isApiError(error, "gone"))).toBe(true);
      expect(informed.story.filter((each) => each === "add a")).toHaveLength(1);
    });

    test("list: by pages, consistent, and with selectors", async () => {
      const namespace = await space();
      const names = Array.from({ length: 25 }, (_, i) => `n${String(i).padStart(2, "0")}`);
      await Promise.all(
        names.map((each) =>
          client.create(configMaps, {
            metadata: { namespace, name: each, labels: { odd: String(Number(each.slice(1)) % 2) } },
          }),
        ),
      );
      const all = await client.list(configMaps, { namespace, pageSize: 7 });
      expect(all.items.map(({ metadata }) => metadata.name)).toEqual(names);
      expect(all.items.every(({ kind, apiVersion }) => kind === "ConfigMap" && apiVersion === "v1")).toBe(true);
      expect((await client.list(configMaps, { namespace, labelSelector: "odd=1" })).items).toHaveLength(12);
      expect((await client.list(configMaps, { namespace, fieldSelector: "metadata.name=n03" })).items).toHaveLength(1);
      await client.deleteCollection(configMaps, { namespace, labelSelector: "odd=1" });
      expect((await client.list(configMaps, { namespace, pageSize: 5 })).items).toHaveLength(13);
    });

    test("conflicts: stale updates, second creates and mistaken deletes are refused by name", async () => {
      const namespace = await space();
      const made = await client.create(configMaps, map(namespace, "a"));
      await expect(client.create(configMaps, map(namespace, "a"))).rejects.toMatchObject({ code: "already-exists" });
      await client.update(configMaps, { ...made, data: { value: "2" } });
      await expect(client.update(configMaps, { ...made, data: { value: "3" } })).rejects.toMatchObject({
        code: "conflict",
      });
      const at = { namespace, name: "a" };
      await expect(client.delete(configMaps, at, { preconditions: { uid: "another" } })).rejects.toMatchObject({
        code: "conflict",
      });
      const version = made.metadata.resourceVersion!;
      await expect(
        client.delete(configMaps, at, { preconditions: { resourceVersion: version } }),
      ).rejects.toMatchObject({ code: "conflict" });
      await expect(client.get(configMaps, { namespace, name: "nobody" })).rejects.toMatchObject({
        code: "not-found",
        reason: "NotFound",
      });
      await expect(client.create(configMaps, map(namespace, "Not_A_Name"))).rejects.toMatchObject({ code: "invalid" });
      await client.delete(configMaps, at, { preconditions: { uid: made.metadata.uid! } });
    });

    test("conflicts: eight writers that read again on conflict lose no increment", async () => {
      const namespace = await space();
      await client.create(configMaps, map(namespace, "counter", "0"));
      const increment = async (): Promise<void> => {
        const now = await client.get(configMaps, { namespace, name: "counter" });
        const value = String(Number(now.data!["value"]) + 1);
        await client.update(configMaps, { ...now, data: { value } }).catch((error: unknown) => {
          if (!isApiError(error, "conflict")) throw error;
          return increment();
        });
      };
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let i = 0; i < 5; i++) await increment();
        }),
      );
      expect((await client.get(configMaps, { namespace, name: "counter" })).data).toEqual({ value: "40" });
    });

    test("patches: JSON, merge, strategic and apply", async () => {
      const namespace = await space();
      const at = { namespace, name: "a" };
      await client.create(configMaps, map(namespace, "a"));
      await client.patch(configMaps, at, { type: "json", operations: [{ op: "add", path: "/data/json", value: "x" }] });
      await client.patch(configMaps, at, { type: "merge", body: { data: { merge: "x", value: null } } });
      await client.patch(configMaps, at, { type: "strategic", body: { data: { strategic: "x" } } });
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: at, data: { apply: "x" } };
      const after = await client.patch(configMaps, at, { type: "apply", body, force: true }, { fieldManager: "suite" });
      expect(after.data).toEqual({ json: "x", merge: "x", strategic: "x", apply: "x" });
      const failed = client.patch(configMaps, at, {
        type: "json",
        operations: [{ op: "test", path: "/data/json", value: "y" }],
      });
      await expect(failed).rejects.toMatchObject({ code: "invalid" });
      const dry = await client.patch(configMaps, at, { type: "merge", body: { data: { dry: "x" } } }, { dryRun: true });
      expect(dry.data!["dry"]).toBe("x");
      expect((await client.get(configMaps, at)).data).not.toHaveProperty("dry");
    });

    test("finalizers: the object stays until ours is removed, and others' are left alone", async () => {
      const namespace = await space();
      const at = { namespace, name: "a" };
      const ours = "holdfast.io/test";
      const made = await client.create(configMaps, map(namespace, "a"));
      expect(await addFinalizer(client, configMaps, made, ours)).toBe(true);
      await expect(addFinalizer(client, configMaps, made, "holdfast.io/stale")).rejects.toMatchObject({
        code: "conflict",
      });
      const going = await client.delete(configMaps, at);
      expect(going?.metadata.deletionTimestamp).toBeDefined();
      const left = await client.get(configMaps, at);
      expect(await removeFinalizer(client, configMaps, left, ours)).toBe(true);
      await expect(client.get(configMaps, at)).rejects.toMatchObject({ code: "not-found" });
      expect(await removeFinalizer(client, configMaps, left, ours)).toBe(false);
    });

    test("leader election: handed over on shutdown, never two at once", async () => {
      const namespace = await space();
      const story: string[] = [];
      const candidate = (identity: string) => {
        const elector = new Elector({
          client,
          namespace,
          name: "suite",
          identity,
          leaseDurationMs: 15_000,
          renewDeadlineMs: 10_000,
          retryPeriodMs: 200,
        });
        const stop = new AbortController();
        const run = elector.run(stop.signal, async (signal) => {
          story.push(`${identity} leads`);
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
          story.push(`${identity} stops`);
        });
        return async () => {
          stop.abort();
          await run;
        };
      };
      const stopA = candidate("a");
      await vi.waitFor(() => expect(story).toEqual(["a leads"]), patient);
      const stopB = candidate("b");
      await new Promise((resolve) => setTimeout(resolve, 1000));
      expect(story).toEqual(["a leads"]);
      await stopA();
      await vi.waitFor(() => expect(story).toEqual(["a leads", "a stops", "b leads"]), patient);
      await stopB();
    });

    test("admission: the server calls our webhook, over a certificate of our own making", async () => {
      const namespace = await space({ "holdfast.io/webhook": String(process.pid) });
      const host = server.webhookHost ?? "127.0.0.1";
      const certificate = new WebhookCertificate({ client, namespace, name: "webhook", names: [host] });
      const material = await certificate.ensure(new AbortController().signal);
      const asked: AdmissionRequest[] = [];
      const admission = new AdmissionServer({
        certificate: material.serving,
        host,
        handlers: {
          "/validate": async (request) => {
            asked.push(request);
            if (request.name !== "denied") return { allowed: true, warnings: ["Seen by the suite."] };
            return { allowed: false, message: "The suite refuses this name.", code: 422, reason: "Invalid" };
          },
          "/mutate": async () => ({ allowed: true, patch: [{ op: "add", path: "/data/mutated", value: "yes" }] }),
        },
      });
      const url = `https://${host}:${await admission.listen()}`;
      const hook = `runtime-${process.pid}`;
      try {
        for (const [kind, path] of [
          ["validating", "/validate"],
          ["mutating", "/mutate"],
        ] as const) {
          await client.create(webhookConfigurations[kind], webhook(hook, `${url}${path}`) as never);
          await trustAuthority(client, kind, hook, caBundle(material));
        }
        // A server takes a moment to notice its webhooks.
        await vi.waitFor(async () => {
          const trial = await client.create(configMaps, map(namespace, "trial"), { dryRun: true });
          expect(trial.data).toEqual({ value: "1", mutated: "yes" });
          expect(asked.length).toBeGreaterThan(0);
        }, patient);
        expect(asked.at(-1)).toMatchObject({
          dryRun: true,
          operation: "CREATE",
          namespace,
          name: "trial",
          kind: { kind: "ConfigMap" },
        });
        const refused = client.create(configMaps, map(namespace, "denied"));
        await expect(refused).rejects.toThrow(/The suite refuses this name\./);
        await client.create(configMaps, map(namespace, "allowed"));
        expect(asked.at(-1)).toMatchObject({ dryRun: false, name: "allowed", object: { data: { mutated: "yes" } } });
      } finally {
        for (const kind of ["validating", "mutating"] as const) {
          await client.delete(webhookConfigurations[kind], { name: hook }).catch(() => {});
        }
        await admission.close(AbortSignal.timeout(5000));
      }
    });

    test("events: written, and counted when repeated", async () => {
      const namespace = await space();
      const made = await client.create(configMaps, map(namespace, "a"));
      const recorder = new EventRecorder({ client, component: "suite", instance: "here" });
      const stop = new AbortController();
      const run = recorder.run(stop.signal);
      for (let i = 0; i < 3; i++) recorder.record(made, "Warning", "Tested", "The suite tests.");
      await vi.waitFor(async () => {
        const { items } = await client.list(events, { namespace });
        expect(items).toMatchObject([{ reason: "Tested", count: 3, involvedObject: { name: "a" } }]);
      }, patient);
      stop.abort();
      await run;
    });

    test("a wrong token is unauthorized, and does nothing", async () => {
      const namespace = await space();
      const config = await loadKubeconfig({ path: server.kubeconfig });
      await using stranger = connect({ ...config, credentials: fixedCredentials(bearer("not-a-token")) });
      const refused = stranger.client.create(configMaps, map(namespace, "a"));
      await expect(refused).rejects.toMatchObject({ code: "unauthorized", status: 401 });
      await expect(client.get(configMaps, { namespace, name: "a" })).rejects.toMatchObject({ code: "not-found" });
    });
  });
}

function map(namespace: string, name: string, value = "1"): ConfigMap {
  return { metadata: { namespace, name }, data: { value } };
}

async function follow(client: KubeClient, namespace: string) {
  const story: string[] = [];
  const errors: Error[] = [];
  const informer = new Informer<ConfigMap>({
    client,
    resource: configMaps,
    scope: { namespace },
    onError: (error) => errors.push(error),
  });
  informer.handle((event) => story.push(told(event)));
  const stop = new AbortController();
  const run = informer.run(stop.signal);
  await informer.synced(AbortSignal.timeout(60_000));
  return {
    story,
    errors,
    /** Name -> value; the server's own ConfigMaps aside. */
    state: () =>
      Object.fromEntries(
        [...informer.cache.list()]
          .filter(({ metadata }) => metadata.name !== "kube-root-ca.crt")
          .map(({ metadata, data }) => [metadata.name, data?.["value"]]),
      ),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await run;
    },
  };
}

function told(event: InformerEvent<ConfigMap>): string {
  const { name } = event.object.metadata;
  if (event.type !== "update") return `${event.type} ${name}`;
  return `update ${name} ${event.previous.data?.["value"]} -> ${event.object.data?.["value"]}`;
}

function webhook(name: string, url: string): object {
  return {
    metadata: { name },
    webhooks: [
      {
        name: `${name}.holdfast.io`,
        clientConfig: { url },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE", "UPDATE"], resources: ["configmaps"] }],
        namespaceSelector: { matchLabels: { "holdfast.io/webhook": String(process.pid) } },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        failurePolicy: "Fail",
        timeoutSeconds: 5,
      },
    ],
  };
}
