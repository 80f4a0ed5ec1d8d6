// Admission webhooks: what they are asked, and what their answer does.
import { expect } from "vitest";

import { apply, del, get, mergePatch, post, put } from "../call.ts";
import { widgets } from "../crd.ts";
import { configMap } from "../fixtures.ts";
import type { KubeObject } from "../object.ts";
import { denied, register, rule, webhook, type AdmissionRequest, type Judge, type Webhook } from "../webhook-server.ts";
import type { Subject, World } from "../world.ts";

const allow: Judge = () => ({ allowed: true });
const make =
  (name: string, data: Record<string, string> = {}) =>
  (world: World) =>
    post(world.at("configmaps"), configMap(name, data));

async function validating(world: World, judge: Judge, settings: object = {}): Promise<Webhook> {
  const hook = await webhook(world, judge);
  await register(world, { ...hook, ...settings });
  return hook;
}

async function mutating(world: World, judge: Judge, settings: object = {}): Promise<Webhook> {
  const hook = await webhook(world, judge);
  await register(world, { ...hook, type: "mutating", ...settings });
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
    "a webhook that allows lets a request through": async (world) => {
      const hook = await validating(world, allow);
      expect((await world.api.send(make("a")(world))).status).toBe(201);
      expect(hook.requests).toHaveLength(1);
    },
    "a webhook that denies refuses with its message": async (world) => {
      await validating(world, () => ({ allowed: false, status: { message: "not on a Sunday" } }));
      expect(await denied(world, make("a")(world))).toBe(
        'admission webhook "hook.holdfast.test" denied the request: not on a Sunday',
      );
      expect(await world.api.exists(world.at("configmaps", "a"))).toBe(false);
    },
    "a webhook that denies chooses code and reason": async (world) => {
      await validating(world, () => ({ allowed: false, status: { code: 409, reason: "Conflict", message: "taken" } }));
      await world.api.refused(make("a")(world), 409, "Conflict");
    },
    "a webhook that denies without a word refuses all the same": async (world) => {
      await validating(world, () => ({ allowed: false }));
      expect(await denied(world, make("a")(world))).toContain("denied the request without explanation");
    },
    "a webhook is told who asks for what": async (world) => {
      const hook = await validating(world, allow);
      await world.api.done(make("a", { k: "v" })(world));
      expect(last(hook)).toMatchObject({
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        kind: { group: "", version: "v1", kind: "ConfigMap" },
        resource: { group: "", version: "v1", resource: "configmaps" },
        name: "a",
        namespace: world.namespace,
        operation: "CREATE",
        userInfo: { username: expect.any(String), groups: expect.arrayContaining(["system:authenticated"]) },
        object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k: "v" } },
        oldObject: null,
        dryRun: false,
      });
    },
    "a webhook is told what was there before an update": async (world) => {
      const hook = await validating(world, allow);
      await world.api.done(make("a", { k: "1" })(world));
      await world.api.done(put(world.at("configmaps", "a"), configMap("a", { k: "2" })));
      expect(last(hook)).toMatchObject({
        operation: "UPDATE",
        object: { data: { k: "2" } },
        oldObject: { data: { k: "1" } },
      });
    },
    "a patch is an update to a webhook, with its result": async (world) => {
      const hook = await validating(world, allow);
      await world.api.done(make("a", { k: "1" })(world));
      await world.api.done(mergePatch(world.at("configmaps", "a"), { data: { l: "2" } }));
      expect(last(hook)).toMatchObject({ operation: "UPDATE", object: { data: { k: "1", l: "2" } } });
    },
    "a webhook is told what is to be deleted": async (world) => {
      const hook = await validating(world, allow);
      await world.api.done(make("a", { k: "1" })(world));
      await world.api.done(del(world.at("configmaps", "a")));
      expect(last(hook)).toMatchObject({
        operation: "DELETE",
        name: "a",
        object: null,
        oldObject: { data: { k: "1" } },
      });
    },
    "a webhook that denies a deletion keeps the object": async (world) => {
      await validating(world, ({ operation }) => ({ allowed: operation !== "DELETE", status: { message: "stay" } }));
      await world.api.done(make("a")(world));
      await denied(world, del(world.at("configmaps", "a")));
      expect(await world.api.exists(world.at("configmaps", "a"))).toBe(true);
    },
    "a mutating webhook changes what is stored": async (world) => {
      await mutating(world, () => ({ allowed: true, patch: label("touched") }));
      const made = await world.api.done(make("a")(world));
      expect(made.metadata.labels).toEqual({ touched: "yes" });
      expect((await world.api.done(get(world.at("configmaps", "a")))).metadata.labels).toEqual({ touched: "yes" });
    },
    "a mutating webhook can deny": async (world) => {
      await mutating(world, () => ({ allowed: false, status: { message: "no" } }));
      await denied(world, make("a")(world));
    },
    "validating webhooks see what mutating ones have made": async (world) => {
      await mutating(world, () => ({ allowed: true, patch: label("touched") }));
      const hook = await validating(world, allow);
      await world.api.done(make("a")(world));
      expect(last(hook)?.object?.metadata.labels).toEqual({ touched: "yes" });
    },
    "what a mutating webhook makes is validated": async (world) => {
      await mutating(world, () => ({ allowed: true, patch: label("not a key") }));
      await world.api.refused(make("a")(world), 422, "Invalid");
    },
    "a name is generated after the mutating webhooks and before the validating ones": async (world) => {
      const before = await mutating(world, allow);
      const after = await validating(world, allow);
      const made = await world.api.done(post(world.at("configmaps"), { metadata: { generateName: "gen-" } }));
      expect(last(before)?.object?.metadata).toMatchObject({ generateName: "gen-" });
      expect(last(before)?.object?.metadata).not.toHaveProperty("name");
      expect(last(after)?.object?.metadata.name).toBe(made.metadata.name);
    },
    "a mutating webhook's patch that does not apply is an internal error": async (world) => {
      await mutating(world, () => ({ allowed: true, patch: [{ op: "remove", path: "/nowhere/at/all" }] }));
      await world.api.refused(make("a")(world), 500, "InternalError");
    },
    "a webhook's warnings reach the client": async (world) => {
      await validating(world, () => ({ allowed: true, warnings: ["mind the gap", "second"] }));
      const reply = await world.api.send(make("a")(world));
      expect(reply.headers["warning"]).toContain('299 - "mind the gap"');
      expect(reply.headers["warning"]).toContain('299 - "second"');
    },
    "webhooks judge custom resources": async (world) => {
      const w = await widgets(world);
      const hook = await validating(world, ({ object }) => ({ allowed: object?.["spec"] !== undefined }), {
        rules: [rule(["CREATE"], ["widgets"], w.group)],
      });
      await world.api.done(post(w.at(), w.body("a", { spec: { x: 1 } })));
      expect(last(hook)).toMatchObject({ resource: { group: w.group, version: "v1", resource: "widgets" } });
      expect((await world.api.send(post(w.at(), w.body("b")))).status).toBeGreaterThanOrEqual(400);
    },
    "a mutating webhook changes custom resources before their defaults and schema are checked": async (world) => {
      const spec = {
        type: "object",
        properties: { x: { type: "integer" }, y: { type: "string", default: "there" } },
        required: ["x"],
      };
      const w = await widgets(world, { spec });
      await mutating(world, () => ({ allowed: true, patch: [{ op: "add", path: "/spec/x", value: 7 }] }), {
        rules: [rule(["CREATE"], ["widgets"], w.group)],
      });
      const made = await world.api.done(post(w.at(), w.body("a", { spec: {} })));
      expect(made["spec"]).toEqual({ x: 7, y: "there" });
    },
    "mutating webhooks see each other's work, in the order of their names": async (world) => {
      const first = [{ op: "add", path: "/data", value: { one: "1" } }];
      const bare = { metadata: { name: "a" } };
      await mutating(world, () => ({ allowed: true, patch: first }), { order: "a" });
      await mutating(world, ({ object }) => ({ allowed: true, patch: second(object) }), { order: "b" });
      const made = await world.api.done(post(world.at("configmaps"), bare));
      expect(made["data"]).toEqual({ one: "1", two: "2" });
    },
    "a deletion of a collection is asked for each object": async (world) => {
      const hook = await validating(world, allow, { rules: [rule(["DELETE"], ["configmaps"])] });
      for (const name of ["a", "b"]) await world.api.done(make(name)(world));
      await world.api.done(del(world.at("configmaps")));
      const asked = hook.requests.map(({ oldObject }) => oldObject?.metadata.name);
      expect(new Set(asked)).toEqual(new Set(["a", "b"]));
    },
    "a webhook is told the options of the request": async (world) => {
      const hook = await validating(world, allow);
      await world.api.done({ ...make("a")(world), query: { fieldManager: "me" } });
      expect(last(hook)?.options).toMatchObject({
        kind: "CreateOptions",
        apiVersion: "meta.k8s.io/v1",
        fieldManager: "me",
      });
      await world.api.done(del(world.at("configmaps", "a"), { propagationPolicy: "Background" }));
      expect(last(hook)?.options).toMatchObject({ kind: "DeleteOptions", propagationPolicy: "Background" });
    },
    "an apply is a creation or an update to a webhook": async (world) => {
      const hook = await mutating(world, () => ({ allowed: true, patch: label("touched") }));
      const applying = (k: string) =>
        apply(world.at("configmaps", "a"), configMap("a", { k }), { fieldManager: "one" });
      expect((await world.api.done(applying("v"))).metadata.labels).toEqual({ touched: "yes" });
      await world.api.done(applying("w"));
      expect(hook.requests.map(({ operation }) => operation)).toEqual(["CREATE", "UPDATE"]);
    },
    "a webhook is told of the status subresource": async (world) => {
      const w = await widgets(world, { subresources: { status: {} } });
      const hook = await validating(world, allow, { rules: [rule(["UPDATE"], ["widgets/*"], w.group)] });
      await world.api.done(post(w.at(), w.body("a")));
      await world.api.done(mergePatch(w.at("a", "status"), { status: { y: 1 } }));
      expect(last(hook)).toMatchObject({ subResource: "status", object: { status: { y: 1 } } });
    },
  },
};
