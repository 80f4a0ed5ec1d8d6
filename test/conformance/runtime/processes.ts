// What a controller process does beside reconciling: leads, answers reviews, records events.
import { expect, test, vi } from "vitest";

import type { AdmissionRequest } from "../../../src/kube/admission/admission-review.ts";
import { AdmissionServer } from "../../../src/kube/admission/admission.ts";
import { caBundle } from "../../../src/kube/admission/serving-certificate.ts";
import { WebhookCertificate } from "../../../src/kube/admission/webhook-certificate.ts";
import { trustAuthority, webhookConfigurations } from "../../../src/kube/admission/webhook-configuration.ts";
import { EventRecorder } from "../../../src/kube/events/events.ts";
import { Elector } from "../../../src/kube/leader.ts";
import type { AnyObject } from "../../../src/kube/meta.ts";
import { defineResource } from "../../../src/kube/resource.ts";
import { configMaps, map, patient, type Fixture } from "./fixture.ts";

const events = defineResource<AnyObject>({
  group: "",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
});

export function processTests(fixture: Fixture): void {
  test("leader election: handed over on shutdown, never two at once", async () => {
    const namespace = await fixture.space();
    const story: string[] = [];
    const candidate = (identity: string) => {
      const elector = new Elector({
        client: fixture.client,
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
    const namespace = await fixture.space({ "holdfast.io/webhook": String(process.pid) });
    const host = fixture.server.webhookHost ?? "127.0.0.1";
    const certificate = new WebhookCertificate({ client: fixture.client, namespace, name: "webhook", names: [host] });
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
        await fixture.client.create(webhookConfigurations[kind], webhook(hook, `${url}${path}`) as never);
        await trustAuthority(fixture.client, kind, hook, caBundle(material));
      }
      // A server takes a moment to notice its webhooks.
      await vi.waitFor(async () => {
        const trial = await fixture.client.create(configMaps, map(namespace, "trial"), { dryRun: true });
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
      const refused = fixture.client.create(configMaps, map(namespace, "denied"));
      await expect(refused).rejects.toThrow(/The suite refuses this name\./);
      await fixture.client.create(configMaps, map(namespace, "allowed"));
      expect(asked.at(-1)).toMatchObject({ dryRun: false, name: "allowed", object: { data: { mutated: "yes" } } });
    } finally {
      for (const kind of ["validating", "mutating"] as const) {
        await fixture.client.delete(webhookConfigurations[kind], { name: hook }).catch(() => {});
      }
      await admission.close(AbortSignal.timeout(5000));
    }
  });

  test("events: written, and counted when repeated", async () => {
    const namespace = await fixture.space();
    const made = await fixture.client.create(configMaps, map(namespace, "a"));
    const recorder = new EventRecorder({ client: fixture.client, component: "suite", instance: "here" });
    const stop = new AbortController();
    const run = recorder.run(stop.signal);
    for (let i = 0; i < 3; i++) recorder.record(made, "Warning", "Tested", "The suite tests.");
    await vi.waitFor(async () => {
      const { items } = await fixture.client.list(events, { namespace });
      expect(items).toMatchObject([{ reason: "Tested", count: 3, involvedObject: { name: "a" } }]);
    }, patient);
    stop.abort();
    await run;
  });
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
