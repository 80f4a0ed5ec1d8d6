// How a server says no: always a Status, with the code in both places.
import { expect } from "vitest";

import { get, post, type Call } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject } from "../fixture.ts";
import { configMap } from "../fixtures.ts";

const json = { "content-type": "application/json" };

export const errors: Subject = {
  name: "errors and Status objects",
  cases: {
    "an object that is absent is named in the details": async (fixture) => {
      const status = await fixture.api.refused(get(fixture.at("leases", "nobody")), 404, "NotFound");
      expect(status.message).toBe('leases.coordination.k8s.io "nobody" not found');
      expect(status.details).toEqual({ name: "nobody", group: "coordination.k8s.io", kind: "leases" });
      expect(status).toMatchObject({ metadata: {} });
    },
    "a custom resource that is absent is named by its plural and group": async (fixture) => {
      const w = await widgets(fixture);
      const status = await fixture.api.refused(get(w.at("nobody")), 404, "NotFound");
      expect(status.details).toEqual({ name: "nobody", group: w.group, kind: "widgets" });
    },
    "a resource that does not exist is NotFound": async (fixture) => {
      const status = await fixture.api.refused(get(fixture.at("things")), 404, "NotFound");
      expect(status.message).toBe("the server could not find the requested resource");
    },
    "a path outside the API is not found": async (fixture) => {
      expect((await fixture.api.send(get("/nothing/here"))).status).toBe(404);
    },
    "a method that a resource does not have is MethodNotAllowed": async (fixture) => {
      const put: Call = { method: "PUT", path: fixture.at("configmaps"), headers: json, body: configMap("a") };
      await fixture.api.refused(put, 405, "MethodNotAllowed");
      const onObject = post(fixture.at("configmaps", "a"), configMap("a"));
      await fixture.api.refused(onObject, 405, "MethodNotAllowed");
    },
    "a body that is no JSON creates nothing and is a bad request": async (fixture) => {
      await fixture.api.refused(post(fixture.at("configmaps"), "{not json"), 400, "BadRequest");
    },
    "an empty body is a bad request": async (fixture) => {
      await fixture.api.refused(post(fixture.at("configmaps"), ""), 400, "BadRequest");
    },
    "a field of a wrong type is a bad request": async (fixture) => {
      const status = await fixture.api.refused(
        post(fixture.at("configmaps"), { metadata: { name: "a" }, data: "text" }),
        400,
        "BadRequest",
      );
      expect(status.message).toContain("ConfigMap");
    },
    "a body of an unknown type is 415": async (fixture) => {
      const call = { ...post(fixture.at("configmaps"), "name: a"), headers: { "content-type": "text/csv" } };
      await fixture.api.refused(call, 415, "UnsupportedMediaType");
    },
    "a body in YAML is taken": async (fixture) => {
      const body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n";
      const reply = await fixture.api.send({
        ...post(fixture.at("configmaps"), body),
        headers: { "content-type": "application/yaml" },
      });
      expect(reply.status).toBe(201);
      expect(reply.body).toMatchObject({ data: { k: "v" } });
    },
    "an object is answered in YAML when asked for": async (fixture) => {
      await fixture.make("configmaps", configMap("a", { k: "v" }));
      const reply = await fixture.api.send({
        ...get(fixture.at("configmaps", "a")),
        headers: { accept: "application/yaml" },
      });
      expect(reply.headers["content-type"]).toBe("application/yaml");
      expect(reply.text).toContain("kind: ConfigMap");
    },
    "causes name reason, field and message": async (fixture) => {
      const status = await fixture.api.refused(
        post(fixture.at("configmaps"), configMap("a", { "bad key": "v" })),
        422,
        "Invalid",
      );
      expect(status.message).toMatch(/^ConfigMap "a" is invalid: /);
      expect(status.details).toMatchObject({ name: "a", kind: "ConfigMap" });
      expect(status.details?.causes?.[0]).toEqual({
        reason: "FieldValueInvalid",
        field: "data[bad key]",
        message: expect.stringContaining('Invalid value: "bad key"'),
      });
    },
    "a query parameter that is no number is a bad request": async (fixture) => {
      await fixture.api.refused(get(fixture.at("configmaps"), { limit: "many" }), 400, "BadRequest");
    },
    "errors are JSON whatever their cause": async (fixture) => {
      const reply = await fixture.api.send(get(fixture.at("configmaps", "nobody")));
      expect(reply.headers["content-type"]).toBe("application/json");
    },
  },
};
