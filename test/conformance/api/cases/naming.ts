// Names, generated names, labels and annotations: what is a valid one, and how an invalid one is refused.
import { expect } from "vitest";

import { post } from "../call.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { configMap, pod } from "../fixtures.ts";

async function invalid(fixture: Fixture, body: object, field: string): Promise<string> {
  const status = await fixture.api.refused(post(fixture.at("configmaps"), body), 422, "Invalid");
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
    "a name with capitals is Invalid, with a cause": async (fixture) => {
      const message = await invalid(fixture, configMap("Upper"), "metadata.name");
      expect(message).toContain("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters");
    },
    "a name that begins with a dash is Invalid": async (fixture) => {
      await invalid(fixture, configMap("-a"), "metadata.name");
    },
    "a name of 254 characters is Invalid, of 253 not": async (fixture) => {
      const message = await invalid(fixture, configMap("a".repeat(254)), "metadata.name");
      expect(message).toMatch(/must be no more than 253 (bytes|characters)/);
      await fixture.make("configmaps", configMap("a".repeat(253)));
    },
    "a name with dots is valid where it is a subdomain": async (fixture) => {
      const created = await fixture.make("configmaps", configMap("10.0.0.1-a.b"));
      expect(created.metadata.name).toBe("10.0.0.1-a.b");
    },
    "the name of a namespace has no dots": async (fixture) => {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: "a.b" } };
      const status = await fixture.api.refused(post("/api/v1/namespaces", body), 422, "Invalid");
      expect(status.details?.causes?.[0]).toMatchObject({ reason: "FieldValueInvalid", field: "metadata.name" });
    },
    "an object without a name is Invalid": async (fixture) => {
      const message = await invalid(fixture, { metadata: {}, data: {} }, "metadata.name");
      expect(message).toContain("name or generateName is required");
    },
    "generateName gets five characters that make a name": async (fixture) => {
      const created = await fixture.make("configmaps", { metadata: { generateName: "gen-" } });
      expect(created.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
      expect(created.metadata.generateName).toBe("gen-");
      const second = await fixture.make("configmaps", { metadata: { generateName: "gen-" } });
      expect(second.metadata.name).not.toBe(created.metadata.name);
    },
    "a name wins over generateName": async (fixture) => {
      const created = await fixture.make("configmaps", { metadata: { name: "a", generateName: "gen-" } });
      expect(created.metadata.name).toBe("a");
    },
    "a long generateName is cut so that the name fits": async (fixture) => {
      const created = await fixture.make("configmaps", { metadata: { generateName: "g".repeat(70) } });
      expect(created.metadata.name).toMatch(/^g{58}[a-z0-9]{5}$/);
    },
    "an invalid generateName is Invalid": async (fixture) => {
      await invalid(fixture, { metadata: { generateName: "Gen-" } }, "metadata.generateName");
    },
    "a label's key has a syntax": async (fixture) => {
      const message = await invalid(fixture, configMap("a", {}, { labels: { "not a key": "v" } }), "metadata.labels");
      expect(message).toContain("name part must consist of alphanumeric characters");
    },
    "a label's value has a syntax and a length of 63": async (fixture) => {
      await invalid(fixture, configMap("a", {}, { labels: { k: "no spaces" } }), "metadata.labels");
      await invalid(fixture, configMap("a", {}, { labels: { k: "v".repeat(64) } }), "metadata.labels");
      await fixture.make("configmaps", configMap("a", {}, { labels: { "example.com/k": "v".repeat(63), empty: "" } }));
    },
    "an annotation's key has a syntax, its value has none": async (fixture) => {
      await invalid(fixture, configMap("a", {}, { annotations: { "a/b/c": "v" } }), "metadata.annotations");
      await fixture.make("configmaps", configMap("a", {}, { annotations: { k: "any text, {even: json}\n" } }));
    },
    "annotations are at most 256 KiB together": async (fixture) => {
      const annotations = { k: "v".repeat(256 * 1024) };
      const message = await invalid(fixture, configMap("a", {}, { annotations }), "metadata.annotations");
      expect(message).toContain("may not be more than 262144 bytes");
    },
    "a label that is no string is refused as a bad request": async (fixture) => {
      const call = post(fixture.at("configmaps"), configMap("a", {}, { labels: { k: 1 } }));
      await fixture.api.refused(call, 400, "BadRequest");
    },
    "a finalizer without a domain is Invalid": async (fixture) => {
      await invalid(fixture, configMap("a", {}, { finalizers: ["plain"] }), "metadata.finalizers[0]");
    },
    "an owner reference needs a uid": async (fixture) => {
      const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "" }];
      await invalid(fixture, configMap("a", {}, { ownerReferences }), "metadata.ownerReferences.uid");
    },
    "two owner references may not both be the controller": async (fixture) => {
      await invalid(
        fixture,
        configMap("a", {}, { ownerReferences: [controller("u1"), controller("u2")] }),
        "metadata.ownerReferences",
      );
    },
    "several faults are told at once": async (fixture) => {
      const body = pod("Upper", { containers: [] }, { labels: { k: "no spaces" } });
      const status = await fixture.api.refused(post(fixture.at("pods"), body), 422, "Invalid");
      const fields = status.details?.causes?.map(({ field }) => field);
      expect(fields).toEqual(expect.arrayContaining(["metadata.name", "metadata.labels", "spec.containers"]));
    },
  },
};
