// Names, generated names, labels and annotations: what is a valid one, and how an invalid one is refused.
import { expect } from "vitest";

import { post } from "../call.ts";
import { configMap, pod } from "../fixtures.ts";
import type { Subject, World } from "../world.ts";

async function invalid(world: World, body: object, field: string): Promise<string> {
  const status = await world.api.refused(post(world.at("configmaps"), body), 422, "Invalid");
  const causes = status.details?.causes ?? [];
  const cause = causes.find((one) => one.field === field);
  expect(causes.map((one) => one.field)).toContain(field);
  expect(status.details?.kind).toBe("ConfigMap");
  return cause?.message ?? "";
}

const controller = (uid: string) => ({ apiVersion: "v1", kind: "ConfigMap", name: "o", uid, controller: true });

export const naming: Subject = {
  name: "names and generateName",
  cases: {
    "a name with capitals is Invalid, with a cause": async (world) => {
      const message = await invalid(world, configMap("Upper"), "metadata.name");
      expect(message).toContain("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters");
    },
    "a name that begins with a dash is Invalid": async (world) => {
      await invalid(world, configMap("-a"), "metadata.name");
    },
    "a name of 254 characters is Invalid, of 253 not": async (world) => {
      const message = await invalid(world, configMap("a".repeat(254)), "metadata.name");
      expect(message).toMatch(/must be no more than 253 (bytes|characters)/);
      await world.make("configmaps", configMap("a".repeat(253)));
    },
    "a name with dots is valid where it is a subdomain": async (world) => {
      const created = await world.make("configmaps", configMap("10.0.0.1-a.b"));
      expect(created.metadata.name).toBe("10.0.0.1-a.b");
    },
    "the name of a namespace has no dots": async (world) => {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: "a.b" } };
      const status = await world.api.refused(post("/api/v1/namespaces", body), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ reason: "FieldValueInvalid", field: "metadata.name" });
    },
    "an object without a name is Invalid": async (world) => {
      const message = await invalid(world, { metadata: {}, data: {} }, "metadata.name");
      expect(message).toContain("name or generateName is required");
    },
    "generateName gets five characters that make a name": async (world) => {
      const created = await world.make("configmaps", { metadata: { generateName: "gen-" } });
      expect(created.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
      expect(created.metadata.generateName).toBe("gen-");
      const second = await world.make("configmaps", { metadata: { generateName: "gen-" } });
      expect(second.metadata.name).not.toBe(created.metadata.name);
    },
    "a name wins over generateName": async (world) => {
      const created = await world.make("configmaps", { metadata: { name: "a", generateName: "gen-" } });
      expect(created.metadata.name).toBe("a");
    },
    "a long generateName is cut so that the name fits": async (world) => {
      const created = await world.make("configmaps", { metadata: { generateName: "g".repeat(70) } });
      expect(created.metadata.name).toMatch(/^g{58}[a-z0-9]{5}$/);
    },
    "an invalid generateName is Invalid": async (world) => {
      await invalid(world, { metadata: { generateName: "Gen-" } }, "metadata.generateName");
    },
    "a label's key has a syntax": async (world) => {
      const message = await invalid(world, configMap("a", {}, { labels: { "not a key": "v" } }), "metadata.labels");
      expect(message).toContain("name part must consist of alphanumeric characters");
    },
    "a label's value has a syntax and a length of 63": async (world) => {
      await invalid(world, configMap("a", {}, { labels: { k: "no spaces" } }), "metadata.labels");
      await invalid(world, configMap("a", {}, { labels: { k: "v".repeat(64) } }), "metadata.labels");
      await world.make("configmaps", configMap("a", {}, { labels: { "example.com/k": "v".repeat(63), empty: "" } }));
    },
    "an annotation's key has a syntax, its value has none": async (world) => {
      await invalid(world, configMap("a", {}, { annotations: { "a/b/c": "v" } }), "metadata.annotations");
      await world.make("configmaps", configMap("a", {}, { annotations: { k: "any text, {even: json}\n" } }));
    },
    "annotations are at most 256 KiB together": async (world) => {
      const annotations = { k: "v".repeat(256 * 1024) };
      const message = await invalid(world, configMap("a", {}, { annotations }), "metadata.annotations");
      expect(message).toContain("may not be more than 262144 bytes");
    },
    "a label that is no string is refused as a bad request": async (world) => {
      const call = post(world.at("configmaps"), configMap("a", {}, { labels: { k: 1 } }));
      await world.api.refused(call, 400, "BadRequest");
    },
    "a finalizer without a domain is Invalid": async (world) => {
      await invalid(world, configMap("a", {}, { finalizers: ["plain"] }), "metadata.finalizers[0]");
    },
    "an owner reference needs a uid": async (world) => {
      const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "" }];
      await invalid(world, configMap("a", {}, { ownerReferences }), "metadata.ownerReferences.uid");
    },
    "two owner references may not both be the controller": async (world) => {
      await invalid(
        world,
        configMap("a", {}, { ownerReferences: [controller("u1"), controller("u2")] }),
        "metadata.ownerReferences",
      );
    },
    "several faults are told at once": async (world) => {
      const body = pod("Upper", { containers: [] }, { labels: { k: "no spaces" } });
      const status = await world.api.refused(post(world.at("pods"), body), 422, "Invalid");
      const fields = status.details?.causes?.map(({ field }) => field);
      expect(fields).toEqual(expect.arrayContaining(["metadata.name", "metadata.labels", "spec.containers"]));
    },
  },
};
