// Who may speak to the server at all. What a user may do is the business of the cluster's own rules.
import { expect } from "vitest";

import { get, post } from "../call.ts";
import type { Subject } from "../fixture.ts";

const reviews = "/apis/authorization.k8s.io/v1";

export const auth: Subject = {
  name: "authentication and access reviews",
  cases: {
    "a wrong token is Unauthorized": async (fixture) => {
      const status = await fixture.api.as("wrong").refused(get(fixture.at("configmaps")), 401, "Unauthorized");
      expect(status.message).toBe("Unauthorized");
    },
    "without a token nothing is read": async (fixture) => {
      const reply = await fixture.api.as(undefined).send(get(fixture.at("configmaps")));
      expect([401, 403]).toContain(reply.status);
      expect(reply.body).toMatchObject({ kind: "Status", status: "Failure" });
    },
    "without a token nothing is written": async (fixture) => {
      const reply = await fixture.api.as(undefined).send(post(fixture.at("configmaps"), { metadata: { name: "a" } }));
      expect([401, 403]).toContain(reply.status);
      expect(await fixture.api.exists(fixture.at("configmaps", "a"))).toBe(false);
    },
    "a scheme other than Bearer does not let in": async (fixture) => {
      const call = { ...get(fixture.at("configmaps")), headers: { authorization: "Basic YTpi" } };
      expect([401, 403]).toContain((await fixture.api.as(undefined).send(call)).status);
    },
    "a wrong token does not open a watch": async (fixture) => {
      await fixture.api.as("wrong").refused(get(fixture.at("configmaps"), { watch: true }), 401, "Unauthorized");
    },
    "a user may ask what it may do": async (fixture) => {
      const resourceAttributes = { namespace: fixture.namespace, verb: "create", resource: "configmaps" };
      const body = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes },
      };
      const reply = await fixture.api.send(post(`${reviews}/selfsubjectaccessreviews`, body));
      expect(reply.status).toBe(201);
      expect(reply.body).toMatchObject({ kind: "SelfSubjectAccessReview", status: { allowed: true } });
    },
    "an access review asks for one thing": async (fixture) => {
      const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: {} };
      await fixture.api.refused(post(`${reviews}/selfsubjectaccessreviews`, body), 422, "Invalid");
    },
  },
};
