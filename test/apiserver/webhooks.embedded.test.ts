// Admission with webhooks that answer in-process.
import { describe, expect, test } from "vitest";

import type { Api } from "../../src/apiserver/api.ts";
import type { JsonObject } from "../../src/apiserver/json.ts";
import { dig } from "../../src/apiserver/json.ts";
import { call, map, maps, open } from "./in-process.ts";

const configuration = (kind: string, more: object = {}) => ({
  metadata: { name: "hooks" },
  webhooks: [
    {
      name: "hook.holdfast.test",
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      clientConfig: { url: "https://hook.test/review" },
      rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
      ...more,
    },
  ],
  kind,
});
const register = (api: Api, kind: "Mutating" | "Validating", more: object = {}) =>
  call(
    api,
    "POST",
    `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`,
    configuration(`${kind}WebhookConfiguration`, more),
  );
/** Answers every review with what is given. */
const answering = (response: JsonObject) => {
  const asked: JsonObject[] = [];
  const callWebhook = async ({ body }: { body: string }) => {
    const request = dig(JSON.parse(body) as JsonObject, "request") as JsonObject;
    asked.push(request);
    return {
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: request["uid"], ...response },
    };
  };
  return { asked, api: open({ callWebhook }) };
};

describe("webhooks without sockets", () => {
  test("a mutating one patches, and its warnings reach the client", async () => {
    const patch = Buffer.from(JSON.stringify([{ op: "add", path: "/data", value: { by: "hook" } }])).toString("base64");
    const { api, asked } = answering({ allowed: true, patchType: "JSONPatch", patch, warnings: ["mind"] });
    await register(api, "Mutating");
    const made = await call(api, "POST", maps, map("a"));
    expect(made).toMatchObject({ status: 201, headers: { warning: '299 - "mind"' }, body: { data: { by: "hook" } } });
    expect(asked[0]).toMatchObject({ operation: "CREATE", namespace: "default", name: "a", dryRun: false });
  });
  test("a validating one denies with its own code", async () => {
    const { api } = answering({ allowed: false, status: { code: 409, message: "not today", reason: "Conflict" } });
    await register(api, "Validating");
    const refused = await call(api, "POST", maps, map("a"));
    expect(refused).toMatchObject({ status: 409, body: { reason: "Conflict" } });
    expect(refused.body["message"]).toBe('admission webhook "hook.holdfast.test" denied the request: not today');
  });
  test("one that fails refuses the request, unless it may be ignored; a service that is not there is a failure with words", async () => {
    const broken = { callWebhook: () => Promise.reject(new Error("no route")) };
    const strict = open(broken);
    await register(strict, "Validating");
    expect(await call(strict, "POST", maps, map("a"))).toMatchObject({
      status: 500,
      body: { reason: "InternalError" },
    });
    const lax = open(broken);
    await register(lax, "Validating", { failurePolicy: "Ignore" });
    expect((await call(lax, "POST", maps, map("a"))).status).toBe(201);
    const inCluster = open(broken);
    await register(inCluster, "Validating", { clientConfig: { service: { name: "s", namespace: "default" } } });
    const refused = await call(inCluster, "POST", maps, map("a"));
    expect(refused.body["message"]).toContain('service "s" not found');
  });
  test("a service leads to its endpoints, its external name or its address, under its own name", async () => {
    const asked: object[] = [];
    const api = open({
      callWebhook: ({ url, serverName, host, port }) => {
        asked.push({ url, serverName, host, port });
        return Promise.reject(new Error("seen"));
      },
    });
    await register(api, "Validating", { clientConfig: { service: { name: "s", namespace: "default", path: "/p" } } });
    const services = "/api/v1/namespaces/default/services";
    const service = (spec: object) => ({ metadata: { name: "s" }, spec: { ports: [{ port: 443 }], ...spec } });
    const ask = async () => (await call(api, "POST", maps, map("a"))).body["message"];
    await call(api, "POST", services, service({ ports: [{ port: 80 }] }));
    expect(await ask()).toContain("no service port 443 found");
    await call(api, "PUT", `${services}/s`, service({ clusterIP: "None" }));
    expect(await ask()).toContain("no endpoints available");
    await call(api, "PUT", `${services}/s`, service({ clusterIP: "10.0.0.1" }));
    await ask();
    const subsets = [{ addresses: [{ ip: "10.1.0.1" }], ports: [{ port: 9443 }] }];
    await call(api, "POST", "/api/v1/namespaces/default/endpoints", { metadata: { name: "s" }, subsets });
    await ask();
    await call(api, "PUT", `${services}/s`, service({ type: "ExternalName", externalName: "host.test" }));
    await ask();
    const same = { url: "https://s.default.svc:443/p", serverName: "s.default.svc" };
    expect(asked).toEqual([
      { ...same, host: "10.0.0.1", port: 443 },
      { ...same, host: "10.1.0.1", port: 9443 },
      { ...same, host: "host.test", port: 443 },
    ]);
  });
  test("an update that somebody overtakes while the webhook thinks is made again on top", async () => {
    let overtake: (() => Promise<unknown>) | undefined;
    const callWebhook = async ({ body }: { body: string }) => {
      const first = overtake;
      overtake = undefined;
      await first?.();
      const uid = dig(JSON.parse(body) as JsonObject, "request", "uid") as string;
      return { kind: "AdmissionReview", response: { uid, allowed: true } };
    };
    const api = open({ callWebhook });
    await call(api, "POST", maps, map("a"));
    const rules = [{ operations: ["UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }];
    await register(api, "Validating", { rules });
    const set = (data: object) => call(api, "PATCH", `${maps}/a`, { data }, "application/merge-patch+json");
    overtake = () => set({ other: "1" });
    await set({ mine: "1" });
    expect((await call(api, "GET", `${maps}/a`)).body["data"]).toEqual({ other: "1", mine: "1" });
  });
});
