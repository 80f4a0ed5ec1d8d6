// Admission webhooks: what they are asked, and what their answer does.
import { expect } from "vitest";

import { apply, del, get, mergePatch, post, put } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap } from "../fixtures.ts";
import type { KubeObject } from "../object.ts";
import { denied, register, rule, webhook, type AdmissionRequest, type Judge, type Webhook } from "../webhook-server.ts";

const allow: Judge = () => ({ allowed: true });
const make =
  (name: string, data: Record<string, string> = {}) =>
  (fixture: Fixture) =>
    post(fixture.at("configmaps"), configMap(name, data));

async function validating(fixture: Fixture, judge: Judge, settings: object = {}): Promise<Webhook> {
  const hook = await webhook(fixture, judge);
  await register(fixture, { ...hook, ...settings });
  return hook;
}

async function mutating(fixture: Fixture, judge: Judge, settings: object = {}): Promise<Webhook> {
  const hook = await webhook(fixture, judge);
  await register(fixture, { ...hook, type: "mutating", ...settings });
  return hook;
}

const label = (key: string) => [{ op: "add", path: "/metadata/labels", value: { [key]: "yes" } }];
/** Adds a second key only where somebody has made the first. */
const second = (object: KubeObject | null) =>
  object?.["data"] === undefined ? [] : [{ op: "add", path: "/data/two", value: "2" }];
const last = ({ requests }: Webhook): AdmissionRequest | undefined => requests.at(-1);

export const webhooks: Subject = {
  name: "admission webhooks",
  cases: {
    "a webhook that allows lets a request through": async (fixture) => {
      const hook = await validating(fixture, allow);
      expect((await fixture.api.send(make("a")(fixture))).status).toBe(201);
      expect(hook.requests).toHaveLength(1);
    },
    "a webhook that denies refuses with its message": async (fixture) => {
      await validating(fixture, () => ({ allowed: false, status: { message: "not on a Sunday" } }));
      expect(await denied(fixture, make("a")(fixture))).toBe(
        'admission webhook "hook.holdfast.test" denied the request: not on a Sunday',
      );
      expect(await fixture.api.exists(fixture.at("configmaps", "a"))).toBe(false);
    },
    "a webhook that denies chooses code and reason": async (fixture) => {
      await validating(fixture, () => ({
        allowed: false,
        status: { code: 409, reason: "Conflict", message: "taken" },
      }));
      await fixture.api.refused(make("a")(fixture), 409, "Conflict");
    },
    "a webhook that denies without a word refuses all the same": async (fixture) => {
      await validating(fixture, () => ({ allowed: false }));
      expect(await denied(fixture, make("a")(fixture))).toContain("denied the request without explanation");
    },
    "a webhook is told who asks for what": async (fixture) => {
      const hook = await validating(fixture, allow);
      await fixture.api.done(make("a", { k: "v" })(fixture));
      expect(last(hook)).toMatchObject({
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        kind: { group: "", version: "v1", kind: "ConfigMap" },
        resource: { group: "", version: "v1", resource: "configmaps" },
        name: "a",
        namespace: fixture.namespace,
        operation: "CREATE",
        userInfo: { username: expect.any(String), groups: expect.arrayContaining(["system:authenticated"]) },
        object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k: "v" } },
        oldObject: null,
        dryRun: false,
      });
    },
    "a webhook is told what was there before an update": async (fixture) => {
      const hook = await validating(fixture, allow);
      await fixture.api.done(make("a", { k: "1" })(fixture));
      await fixture.api.done(put(fixture.at("configmaps", "a"), configMap("a", { k: "2" })));
      expect(last(hook)).toMatchObject({
        operation: "UPDATE",
        object: { data: { k: "2" } },
        oldObject: { data: { k: "1" } },
      });
    },
    "a patch is an update to a webhook, with its result": async (fixture) => {
      const hook = await validating(fixture, allow);
      await fixture.api.done(make("a", { k: "1" })(fixture));
      await fixture.api.done(mergePatch(fixture.at("configmaps", "a"), { data: { l: "2" } }));
      expect(last(hook)).toMatchObject({ operation: "UPDATE", object: { data: { k: "1", l: "2" } } });
    },
    "a webhook is told what is to be deleted": async (fixture) => {
      const hook = await validating(fixture, allow);
      await fixture.api.done(make("a", { k: "1" })(fixture));
      await fixture.api.done(del(fixture.at("configmaps", "a")));
      expect(last(hook)).toMatchObject({
        operation: "DELETE",
        name: "a",
        object: null,
        oldObject: { data: { k: "1" } },
      });
    },
    "a webhook that denies a deletion keeps the object": async (fixture) => {
      await validating(fixture, ({ operation }) => ({ allowed: operation !== "DELETE", status: { message: "stay" } }));
      await fixture.api.done(make("a")(fixture));
      await denied(fixture, del(fixture.at("configmaps", "a")));
      expect(await fixture.api.exists(fixture.at("configmaps", "a"))).toBe(true);
    },
    "a mutating webhook changes what is stored": async (fixture) => {
      await mutating(fixture, () => ({ allowed: true, patch: label("touched") }));
      const made = await fixture.api.done(make("a")(fixture));
      expect(made.metadata.labels).toEqual({ touched: "yes" });
      expect((await fixture.api.done(get(fixture.at("configmaps", "a")))).metadata.labels).toEqual({ touched: "yes" });
    },
    "a mutating webhook can deny": async (fixture) => {
      await mutating(fixture, () => ({ allowed: false, status: { message: "no" } }));
      await denied(fixture, make("a")(fixture));
    },
    "validating webhooks see what mutating ones have made": async (fixture) => {
      await mutating(fixture, () => ({ allowed: true, patch: label("touched") }));
      const hook = await validating(fixture, allow);
      await fixture.api.done(make("a")(fixture));
      expect(last(hook)?.object?.metadata.labels).toEqual({ touched: "yes" });
    },
    "what a mutating webhook makes is validated": async (fixture) => {
      await mutating(fixture, () => ({ allowed: true, patch: label("not a key") }));
      await fixture.api.refused(make("a")(fixture), 422, "Invalid");
    },
    "a name is generated after the mutating webhooks and before the validating ones": async (fixture) => {
      const before = await mutating(fixture, allow);
      const after = await validating(fixture, allow);
      const made = await fixture.api.done(post(fixture.at("configmaps"), { metadata: { generateName: "gen-" } }));
      expect(last(before)?.object?.metadata).toMatchObject({ generateName: "gen-" });
      expect(last(before)?.object?.metadata).not.toHaveProperty("name");
      expect(last(after)?.object?.metadata.name).toBe(made.metadata.name);
    },
    "a mutating webhook's patch that does not apply is an internal error": async (fixture) => {
      await mutating(fixture, () => ({ allowed: true, patch: [{ op: "remove", path: "/nowhere/at/all" }] }));
      await fixture.api.refused(make("a")(fixture), 500, "InternalError");
    },
    "a webhook's warnings reach the client": async (fixture) => {
      await validating(fixture, () => ({ allowed: true, warnings: ["mind the gap", "second"] }));
      const reply = await fixture.api.send(make("a")(fixture));
      expect(reply.headers["warning"]).toContain('299 - "mind the gap"');
      expect(reply.headers["warning"]).toContain('299 - "second"');
    },
    "webhooks judge custom resources": async (fixture) => {
      const w = await widgets(fixture);
      const hook = await validating(fixture, ({ object }) => ({ allowed: object?.["spec"] !== undefined }), {
        rules: [rule(["CREATE"], ["widgets"], w.group)],
      });
      await fixture.api.done(post(w.at(), w.body("a", { spec: { x: 1 } })));
      expect(last(hook)).toMatchObject({ resource: { group: w.group, version: "v1", resource: "widgets" } });
      expect((await fixture.api.send(post(w.at(), w.body("b")))).status).toBeGreaterThanOrEqual(400);
    },
    "a mutating webhook changes custom resources before their defaults and schema are checked": async (fixture) => {
      const spec = {
        type: "object",
        properties: { x: { type: "integer" }, y: { type: "string", default: "there" } },
        required: ["x"],
      };
      const w = await widgets(fixture, { spec });
      await mutating(fixture, () => ({ allowed: true, patch: [{ op: "add", path: "/spec/x", value: 7 }] }), {
        rules: [rule(["CREATE"], ["widgets"], w.group)],
      });
      const made = await fixture.api.done(post(w.at(), w.body("a", { spec: {} })));
      expect(made["spec"]).toEqual({ x: 7, y: "there" });
    },
    "mutating webhooks see each other's work, in the order of their names": async (fixture) => {
      const first = [{ op: "add", path: "/data", value: { one: "1" } }];
      const bare = { metadata: { name: "a" } };
      await mutating(fixture, () => ({ allowed: true, patch: first }), { order: "a" });
      await mutating(fixture, ({ object }) => ({ allowed: true, patch: second(object) }), { order: "b" });
      const made = await fixture.api.done(post(fixture.at("configmaps"), bare));
      expect(made["data"]).toEqual({ one: "1", two: "2" });
    },
    "a deletion of a collection is asked for each object": async (fixture) => {
      const hook = await validating(fixture, allow, { rules: [rule(["DELETE"], ["configmaps"])] });
      for (const name of ["a", "b"]) await fixture.api.done(make(name)(fixture));
      await fixture.api.done(del(fixture.at("configmaps")));
      const asked = hook.requests.map(({ oldObject }) => oldObject?.metadata.name);
      expect(new Set(asked)).toEqual(new Set(["a", "b"]));
    },
    "a webhook is told the options of the request": async (fixture) => {
      const hook = await validating(fixture, allow);
      await fixture.api.done({ ...make("a")(fixture), query: { fieldManager: "me" } });
      expect(last(hook)?.options).toMatchObject({
        kind: "CreateOptions",
        apiVersion: "meta.k8s.io/v1",
        fieldManager: "me",
      });
      await fixture.api.done(del(fixture.at("configmaps", "a"), { propagationPolicy: "Background" }));
      expect(last(hook)?.options).toMatchObject({ kind: "DeleteOptions", propagationPolicy: "Background" });
    },
    "an apply is a creation or an update to a webhook": async (fixture) => {
      const hook = await mutating(fixture, () => ({ allowed: true, patch: label("touched") }));
      const applying = (k: string) =>
        apply(fixture.at("configmaps", "a"), configMap("a", { k }), { fieldManager: "one" });
      expect((await fixture.api.done(applying("v"))).metadata.labels).toEqual({ touched: "yes" });
      await fixture.api.done(applying("w"));
      expect(hook.requests.map(({ operation }) => operation)).toEqual(["CREATE", "UPDATE"]);
    },
    "a webhook is told of the status subresource": async (fixture) => {
      const w = await widgets(fixture, { subresources: { status: {} } });
      const hook = await validating(fixture, allow, { rules: [rule(["UPDATE"], ["widgets/*"], w.group)] });
      await fixture.api.done(post(w.at(), w.body("a")));
      await fixture.api.done(mergePatch(w.at("a", "status"), { status: { y: 1 } }));
      expect(last(hook)).toMatchObject({ subResource: "status", object: { status: { y: 1 } } });
    },
  },
};
