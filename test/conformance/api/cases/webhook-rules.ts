// When a webhook is called, and what happens when it cannot be.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, secret } from "../fixtures.ts";
import { until } from "../until.ts";
import { denied, register, registration, rule, strangeBundle, webhook, type Judge } from "../webhook-server.ts";

const deny: Judge = () => ({ allowed: false, status: { message: "denied" } });

async function denying(fixture: Fixture, settings: object): Promise<void> {
  await register(fixture, { ...(await webhook(fixture, deny)), ...settings });
}

const create = (fixture: Fixture, name: string, metadata: object = {}) =>
  post(fixture.at("configmaps"), configMap(name, {}, metadata));

/** An address at which nobody answers. */
async function deadEnd(fixture: Fixture): Promise<{ url: string; caBundle: string }> {
  const { caBundle } = await webhook(fixture, deny);
  return { url: "https://127.0.0.1:9/nobody", caBundle };
}

export const webhookRules: Subject = {
  name: "rules and failures of webhooks",
  cases: {
    "a rule names operations": async (fixture) => {
      await denying(fixture, { rules: [rule(["UPDATE"], ["configmaps"])] });
      await fixture.api.done(create(fixture, "a"));
      await denied(fixture, mergePatch(fixture.at("configmaps", "a"), { data: { k: "v" } }));
    },
    "a rule names resources": async (fixture) => {
      await denying(fixture, { rules: [rule(["*"], ["secrets"])] });
      await fixture.api.done(create(fixture, "a"));
      await denied(fixture, post(fixture.at("secrets"), secret("a")));
    },
    "a rule for all resources leaves subresources out": async (fixture) => {
      const w = await widgets(fixture, { subresources: { status: {} } });
      await fixture.api.done(post(w.at(), w.body("a")));
      await denying(fixture, { rules: [rule(["*"], ["*"], w.group)] });
      await fixture.api.done(mergePatch(w.at("a", "status"), { status: { y: 1 } }));
      await denied(fixture, mergePatch(w.at("a"), { spec: { x: 1 } }));
    },
    "a rule can name a subresource": async (fixture) => {
      const w = await widgets(fixture, { subresources: { status: {} } });
      await fixture.api.done(post(w.at(), w.body("a")));
      await denying(fixture, { rules: [rule(["UPDATE"], ["widgets/status"], w.group)] });
      await fixture.api.done(mergePatch(w.at("a"), { spec: { x: 1 } }));
      await denied(fixture, mergePatch(w.at("a", "status"), { status: { y: 1 } }));
    },
    "a rule's scope leaves the other scope out": async (fixture) => {
      await denying(fixture, {
        rules: [{ ...rule(["*"], ["configmaps"]), scope: "Cluster" }],
        namespaceSelector: {},
        objectSelector: { matchLabels: { owner: fixture.namespace } },
      });
      await fixture.api.done(create(fixture, "a", { labels: { owner: fixture.namespace } }));
    },
    "an object selector leaves other objects out": async (fixture) => {
      await denying(fixture, { objectSelector: { matchLabels: { guarded: "yes" } } });
      await fixture.api.done(create(fixture, "a"));
      await denied(fixture, create(fixture, "b", { labels: { guarded: "yes" } }));
    },
    "an object selector looks at the object before and after": async (fixture) => {
      await denying(fixture, {
        objectSelector: { matchLabels: { guarded: "yes" } },
        rules: [rule(["UPDATE"], ["configmaps"])],
      });
      await fixture.api.done(create(fixture, "a", { labels: { guarded: "yes" } }));
      const call = mergePatch(fixture.at("configmaps", "a"), { metadata: { labels: { guarded: "no" } } });
      await denied(fixture, call);
    },
    "a namespace selector leaves other namespaces out": async (fixture) => {
      const other = await fixture.neighbour();
      await denying(fixture, {});
      await fixture.api.done(create(other, "a"));
      await denied(fixture, create(fixture, "a"));
    },
    "a namespace selector takes expressions": async (fixture) => {
      const key = "kubernetes.io/metadata.name";
      const matchExpressions = [{ key, operator: "In", values: [fixture.namespace] }];
      await denying(fixture, { namespaceSelector: { matchExpressions } });
      await denied(fixture, create(fixture, "a"));
    },
    "conditions in CEL leave other requests out": async (fixture) => {
      await denying(fixture, {
        matchConditions: [
          { name: "guarded", expression: "has(object.metadata.labels) && 'guarded' in object.metadata.labels" },
          { name: "made", expression: "request.operation == 'CREATE' && oldObject == null" },
        ],
      });
      await fixture.api.done(create(fixture, "a"));
      await denied(fixture, create(fixture, "b", { labels: { guarded: "yes" } }));
    },
    "a condition that is no CEL is refused": async (fixture) => {
      const matchConditions = [{ name: "wrong", expression: "object." }];
      const hook = await webhook(fixture, deny);
      const { collection, body } = registration(fixture, { ...hook, matchConditions });
      await fixture.api.refused(post(collection, body), 422, "Invalid");
    },
    "a webhook that cannot be reached fails the request": async (fixture) => {
      await register(fixture, { ...(await deadEnd(fixture)), failurePolicy: "Fail" });
      const status = await fixture.api.refused(create(fixture, "a"), 500, "InternalError");
      expect(status.message).toContain('failed calling webhook "hook.holdfast.test"');
    },
    "a webhook that cannot be reached is passed over when told to": async (fixture) => {
      await register(fixture, { ...(await deadEnd(fixture)), failurePolicy: "Ignore" });
      await fixture.api.done(create(fixture, "a"));
    },
    "failing is the default": async (fixture) => {
      const made = await register(fixture, { ...(await webhook(fixture, deny)) });
      expect(made["webhooks"]).toMatchObject([{ failurePolicy: "Fail", matchPolicy: "Equivalent" }, {}]);
    },
    "a certificate that the bundle does not vouch for fails the request": async (fixture) => {
      const { url } = await webhook(fixture, () => ({ allowed: true }));
      const caBundle = strangeBundle();
      await register(fixture, { url, caBundle });
      await fixture.api.refused(create(fixture, "a"), 500, "InternalError");
    },
    "an answer that is no review fails the request": async (fixture) => {
      await register(fixture, { ...(await webhook(fixture, () => "{}")) });
      await fixture.api.refused(create(fixture, "a"), 500, "InternalError");
    },
    "a webhook that is too slow fails the request": async (fixture) => {
      const waits: (() => void)[] = [];
      const slow = await webhook(fixture, () => new Promise((resolve) => waits.push(() => resolve({ allowed: true }))));
      await register(fixture, { ...slow, timeoutSeconds: 1 });
      const status = await fixture.api.refused(create(fixture, "a"), 500, "InternalError");
      expect(status.message).toMatch(/deadline exceeded|timeout|timed out/i);
      for (const wake of waits) wake();
    },
    "a dry run calls a webhook without side effects, and says so": async (fixture) => {
      const hook = await webhook(fixture, deny);
      await register(fixture, { ...hook });
      await denied(fixture, { ...create(fixture, "a"), query: { dryRun: "All" } });
      expect(hook.requests.at(-1)?.dryRun).toBe(true);
    },
    "side effects that a webhook may have must be declared": async (fixture) => {
      const hook = await webhook(fixture, deny);
      const { collection, body } = registration(fixture, { ...hook, sideEffects: "Some" });
      const status = await fixture.api.refused(post(collection, body), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "webhooks[0].sideEffects" });
    },
    "a configuration is validated": async (fixture) => {
      const { collection, body } = registration(fixture, { url: "http://127.0.0.1/plain", caBundle: "" });
      const status = await fixture.api.refused(post(collection, body), 422, "Invalid");
      expect(status.details?.causes?.map(({ field }) => field)).toContain("webhooks[0].clientConfig.url");
      const short = registration(fixture, { url: "https://127.0.0.1/", caBundle: "", name: "short" });
      await fixture.api.refused(post(short.collection, short.body), 422, "Invalid");
    },
    "webhooks do not judge webhook configurations": async (fixture) => {
      const rules = [
        { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["validatingwebhookconfigurations"] },
      ];
      const made = await register(fixture, { ...(await webhook(fixture, deny)), rules });
      const path = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${made.metadata.name}`;
      await fixture.api.done(mergePatch(path, { metadata: { labels: { x: "y" } } }));
      expect((await fixture.api.done(get(path))).metadata.labels).toEqual({ x: "y" });
    },
    "a namespace selector does not keep cluster-scoped objects out": async (fixture) => {
      const w = await widgets(fixture, { scope: "Cluster" });
      const hook = await webhook(fixture, deny);
      await register(fixture, { ...hook, rules: [rule(["CREATE"], ["widgets"], w.group)] });
      await denied(fixture, post(w.everywhere(), w.body("a")));
    },
    "a configuration that is gone has no effect": async (fixture) => {
      const made = await register(fixture, { ...(await webhook(fixture, deny)) });
      await denied(fixture, create(fixture, "a"));
      const path = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${made.metadata.name}`;
      await fixture.api.done({ method: "DELETE", path });
      await until(
        "the webhook is no longer asked",
        async () => (await fixture.api.send(create(fixture, "a"))).status === 201,
      );
    },
  },
};
