// When a webhook is called, and what happens when it cannot be.
import { expect } from "vitest";

import { get, mergePatch, post } from "../call.ts";
import { widgets } from "../crd.ts";
import { configMap, secret } from "../fixtures.ts";
import { until } from "../until.ts";
import { denied, register, registration, rule, strangeBundle, webhook, type Judge } from "../webhook-server.ts";
import type { Subject, World } from "../world.ts";

const deny: Judge = () => ({ allowed: false, status: { message: "denied" } });

async function denying(world: World, settings: object): Promise<void> {
  await register(world, { ...(await webhook(world, deny)), ...settings });
}

const create = (world: World, name: string, metadata: object = {}) =>
  post(world.at("configmaps"), configMap(name, {}, metadata));

/** An address at which nobody answers. */
async function deadEnd(world: World): Promise<{ url: string; caBundle: string }> {
  const { caBundle } = await webhook(world, deny);
  return { url: "https://127.0.0.1:9/nobody", caBundle };
}

export const webhookRules: Subject = {
  name: "rules and failures of webhooks",
  cases: {
    "a rule names operations": async (world) => {
      await denying(world, { rules: [rule(["UPDATE"], ["configmaps"])] });
      await world.api.done(create(world, "a"));
      await denied(world, mergePatch(world.at("configmaps", "a"), { data: { k: "v" } }));
    },
    "a rule names resources": async (world) => {
      await denying(world, { rules: [rule(["*"], ["secrets"])] });
      await world.api.done(create(world, "a"));
      await denied(world, post(world.at("secrets"), secret("a")));
    },
    "a rule for all resources leaves subresources out": async (world) => {
      const w = await widgets(world, { subresources: { status: {} } });
      await world.api.done(post(w.at(), w.body("a")));
      await denying(world, { rules: [rule(["*"], ["*"], w.group)] });
      await world.api.done(mergePatch(w.at("a", "status"), { status: { y: 1 } }));
      await denied(world, mergePatch(w.at("a"), { spec: { x: 1 } }));
    },
    "a rule can name a subresource": async (world) => {
      const w = await widgets(world, { subresources: { status: {} } });
      await world.api.done(post(w.at(), w.body("a")));
      await denying(world, { rules: [rule(["UPDATE"], ["widgets/status"], w.group)] });
      await world.api.done(mergePatch(w.at("a"), { spec: { x: 1 } }));
      await denied(world, mergePatch(w.at("a", "status"), { status: { y: 1 } }));
    },
    "a rule's scope leaves the other scope out": async (world) => {
      await denying(world, {
        rules: [{ ...rule(["*"], ["configmaps"]), scope: "Cluster" }],
        namespaceSelector: {},
        objectSelector: { matchLabels: { owner: world.namespace } },
      });
      await world.api.done(create(world, "a", { labels: { owner: world.namespace } }));
    },
    "an object selector leaves other objects out": async (world) => {
      await denying(world, { objectSelector: { matchLabels: { guarded: "yes" } } });
      await world.api.done(create(world, "a"));
      await denied(world, create(world, "b", { labels: { guarded: "yes" } }));
    },
    "an object selector looks at the object before and after": async (world) => {
      await denying(world, {
        objectSelector: { matchLabels: { guarded: "yes" } },
        rules: [rule(["UPDATE"], ["configmaps"])],
      });
      await world.api.done(create(world, "a", { labels: { guarded: "yes" } }));
      const call = mergePatch(world.at("configmaps", "a"), { metadata: { labels: { guarded: "no" } } });
      await denied(world, call);
    },
    "a namespace selector leaves other namespaces out": async (world) => {
      const other = await world.neighbour();
      await denying(world, {});
      await world.api.done(create(other, "a"));
      await denied(world, create(world, "a"));
    },
    "a namespace selector takes expressions": async (world) => {
      const key = "kubernetes.io/metadata.name";
      const matchExpressions = [{ key, operator: "In", values: [world.namespace] }];
      await denying(world, { namespaceSelector: { matchExpressions } });
      await denied(world, create(world, "a"));
    },
    "conditions in CEL leave other requests out": async (world) => {
      await denying(world, {
        matchConditions: [
          { name: "guarded", expression: "has(object.metadata.labels) && 'guarded' in object.metadata.labels" },
          { name: "made", expression: "request.operation == 'CREATE' && oldObject == null" },
        ],
      });
      await world.api.done(create(world, "a"));
      await denied(world, create(world, "b", { labels: { guarded: "yes" } }));
    },
    "a condition that is no CEL is refused": async (world) => {
      const matchConditions = [{ name: "wrong", expression: "object." }];
      const hook = await webhook(world, deny);
      const { collection, body } = registration(world, { ...hook, matchConditions });
      await world.api.refused(post(collection, body), 422, "Invalid");
    },
    "a webhook that cannot be reached fails the request": async (world) => {
      await register(world, { ...(await deadEnd(world)), failurePolicy: "Fail" });
      const status = await world.api.refused(create(world, "a"), 500, "InternalError");
      expect(status.message).toContain('failed calling webhook "hook.holdfast.test"');
    },
    "a webhook that cannot be reached is passed over when told to": async (world) => {
      await register(world, { ...(await deadEnd(world)), failurePolicy: "Ignore" });
      await world.api.done(create(world, "a"));
    },
    "failing is the default": async (world) => {
      const made = await register(world, { ...(await webhook(world, deny)) });
      expect(made["webhooks"]).toMatchObject([{ failurePolicy: "Fail", matchPolicy: "Equivalent" }, {}]);
    },
    "a certificate that the bundle does not vouch for fails the request": async (world) => {
      const { url } = await webhook(world, () => ({ allowed: true }));
      const caBundle = strangeBundle();
      await register(world, { url, caBundle });
      await world.api.refused(create(world, "a"), 500, "InternalError");
    },
    "an answer that is no review fails the request": async (world) => {
      await register(world, { ...(await webhook(world, () => "{}")) });
      await world.api.refused(create(world, "a"), 500, "InternalError");
    },
    "a webhook that is too slow fails the request": async (world) => {
      const waits: (() => void)[] = [];
      const slow = await webhook(world, () => new Promise((resolve) => waits.push(() => resolve({ allowed: true }))));
      await register(world, { ...slow, timeoutSeconds: 1 });
      const status = await world.api.refused(create(world, "a"), 500, "InternalError");
      expect(status.message).toMatch(/deadline exceeded|timeout|timed out/i);
      for (const wake of waits) wake();
    },
    "a dry run calls a webhook without side effects, and says so": async (world) => {
      const hook = await webhook(world, deny);
      await register(world, { ...hook });
      await denied(world, { ...create(world, "a"), query: { dryRun: "All" } });
      expect(hook.requests.at(-1)?.dryRun).toBe(true);
    },
    "side effects that a webhook may have must be declared": async (world) => {
      const hook = await webhook(world, deny);
      const { collection, body } = registration(world, { ...hook, sideEffects: "Some" });
      const status = await world.api.refused(post(collection, body), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ field: "webhooks[0].sideEffects" });
    },
    "a configuration is validated": async (world) => {
      const { collection, body } = registration(world, { url: "http://127.0.0.1/plain", caBundle: "" });
      const status = await world.api.refused(post(collection, body), 422, "Invalid");
      expect(status.details?.causes?.map(({ field }) => field)).toContain("webhooks[0].clientConfig.url");
      const short = registration(world, { url: "https://127.0.0.1/", caBundle: "", name: "short" });
      await world.api.refused(post(short.collection, short.body), 422, "Invalid");
    },
    "webhooks do not judge webhook configurations": async (world) => {
      const rules = [
        { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["validatingwebhookconfigurations"] },
      ];
      const made = await register(world, { ...(await webhook(world, deny)), rules });
      const path = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${made.metadata.name}`;
      await world.api.done(mergePatch(path, { metadata: { labels: { x: "y" } } }));
      expect((await world.api.done(get(path))).metadata.labels).toEqual({ x: "y" });
    },
    "a namespace selector does not keep cluster-scoped objects out": async (world) => {
      const w = await widgets(world, { scope: "Cluster" });
      const hook = await webhook(world, deny);
      await register(world, { ...hook, rules: [rule(["CREATE"], ["widgets"], w.group)] });
      await denied(world, post(w.everywhere(), w.body("a")));
    },
    "a configuration that is gone has no effect": async (world) => {
      const made = await register(world, { ...(await webhook(world, deny)) });
      await denied(world, create(world, "a"));
      const path = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${made.metadata.name}`;
      await world.api.done({ method: "DELETE", path });
      await until(
        "the webhook is no longer asked",
        async () => (await world.api.send(create(world, "a"))).status === 201,
      );
    },
  },
};
