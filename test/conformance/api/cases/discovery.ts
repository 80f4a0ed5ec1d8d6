// Discovery: what a client learns about a server before its first object.
import { expect } from "vitest";

import { accepting, get } from "../call.ts";
import { widgets } from "../crd.ts";
import type { Subject, Fixture } from "../fixture.ts";
import { until } from "../until.ts";

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
}

interface Groups {
  readonly groups: readonly { readonly name: string; readonly preferredVersion: { readonly version: string } }[];
}

const resources = async (fixture: Fixture, path: string) =>
  (await fixture.api.done<{ resources: readonly Resource[] }>(get(path))).resources;

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
interface Aggregated {
  readonly kind: string;
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly resources: readonly {
        readonly resource: string;
        readonly scope: string;
        readonly subresources?: readonly { readonly subresource: string }[];
      }[];
    }[];
  }[];
}

export const discovery: Subject = {
  name: "discovery",
  cases: {
    "/version tells the version": async (fixture) => {
      expect(await fixture.api.done(get("/version"))).toMatchObject({
        major: "1",
        minor: expect.stringMatching(/^\d+$/),
        gitVersion: expect.stringMatching(/^v1\.\d+\.\d+/),
      });
    },
    "/healthz, /livez and /readyz say ok": async (fixture) => {
      for (const path of ["/healthz", "/livez", "/readyz"]) {
        const reply = await fixture.api.send(get(path));
        expect([path, reply.status, reply.text]).toEqual([path, 200, "ok"]);
      }
    },
    "/api lists the versions of the core group": async (fixture) => {
      expect(await fixture.api.done(get("/api"))).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
    },
    "/apis lists the groups": async (fixture) => {
      const { groups } = await fixture.api.done<Groups>(get("/apis"));
      expect(groups.map(({ name }) => name)).toEqual(
        expect.arrayContaining([
          "apiextensions.k8s.io",
          "apps",
          "coordination.k8s.io",
          "admissionregistration.k8s.io",
          "events.k8s.io",
        ]),
      );
      expect(groups.find(({ name }) => name === "coordination.k8s.io")?.preferredVersion).toMatchObject({
        version: "v1",
      });
    },
    "/apis/GROUP tells the versions of one group": async (fixture) => {
      expect(await fixture.api.done(get("/apis/coordination.k8s.io"))).toMatchObject({
        kind: "APIGroup",
        name: "coordination.k8s.io",
        versions: expect.arrayContaining([{ groupVersion: "coordination.k8s.io/v1", version: "v1" }]),
      });
    },
    "a version lists its resources with scope, verbs and short names": async (fixture) => {
      const list = await fixture.api.done<{ kind: string; groupVersion: string }>(get("/api/v1"));
      expect(list).toMatchObject({ kind: "APIResourceList", groupVersion: "v1" });
      const all = await resources(fixture, "/api/v1");
      const pods = all.find(({ name }) => name === "pods");
      expect(pods).toMatchObject({ kind: "Pod", namespaced: true, shortNames: ["po"] });
      expect([...(pods?.verbs ?? [])].sort()).toEqual([
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
      ]);
      expect(all.find(({ name }) => name === "nodes")).toMatchObject({ kind: "Node", namespaced: false });
    },
    "subresources are listed by their path": async (fixture) => {
      const all = (await resources(fixture, "/api/v1")).map(({ name }) => name);
      expect(all).toEqual(
        expect.arrayContaining(["pods/status", "pods/binding", "nodes/status", "namespaces/finalize"]),
      );
    },
    "the kinds that Holdfast needs are there": async (fixture) => {
      const core = (await resources(fixture, "/api/v1")).map(({ name }) => name);
      expect(core).toEqual(
        expect.arrayContaining(["namespaces", "nodes", "pods", "events", "configmaps", "secrets", "serviceaccounts"]),
      );
      const leases = (await resources(fixture, "/apis/coordination.k8s.io/v1")).map(({ name }) => name);
      expect(leases).toContain("leases");
      const hooks = (await resources(fixture, "/apis/admissionregistration.k8s.io/v1")).map(({ name }) => name);
      expect(hooks).toEqual(
        expect.arrayContaining(["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]),
      );
    },
    "a group that does not exist is not found": async (fixture) => {
      expect((await fixture.api.send(get("/apis/nobody.test"))).status).toBe(404);
      expect((await fixture.api.send(get("/apis/nobody.test/v1/things"))).status).toBe(404);
    },
    "aggregated discovery tells everything at once": async (fixture) => {
      const core = await fixture.api.done<Aggregated>(accepting(get("/api"), aggregated));
      expect(core.kind).toBe("APIGroupDiscoveryList");
      const pods = core.items[0]?.versions[0]?.resources.find(({ resource }) => resource === "pods");
      expect(pods).toMatchObject({ scope: "Namespaced", singularResource: "pod", responseKind: { kind: "Pod" } });
      expect(pods?.subresources?.map(({ subresource }) => subresource)).toEqual(
        expect.arrayContaining(["status", "binding"]),
      );
      const rest = await fixture.api.done<Aggregated>(accepting(get("/apis"), aggregated));
      expect(rest.items.map(({ metadata }) => metadata.name)).toEqual(
        expect.arrayContaining(["apps", "coordination.k8s.io"]),
      );
    },
    "aggregated discovery falls back to the plain form": async (fixture) => {
      const reply = await fixture.api.send(accepting(get("/apis"), `${aggregated},application/json`));
      expect(reply.headers["content-type"]).toContain("as=APIGroupDiscoveryList");
      const plain = await fixture.api.send(get("/apis"));
      expect(plain.headers["content-type"]).toBe("application/json");
    },
    "a custom resource appears in discovery, plain and aggregated, and leaves it": async (fixture) => {
      const w = await widgets(fixture, { subresources: { status: {} } });
      const listed = async () =>
        (await fixture.api.done<Groups>(get("/apis"))).groups.some(({ name }) => name === w.group);
      await until("the group is listed", listed);
      const all = (await resources(fixture, `/apis/${w.group}/v1`)).map(({ name }) => name);
      expect(all).toEqual(["widgets", "widgets/status"]);
      await until("the group is in aggregated discovery", async () => {
        const { items } = await fixture.api.done<Aggregated>(accepting(get("/apis"), aggregated));
        return items.some(({ metadata }) => metadata.name === w.group);
      });
      await fixture.api.done({ method: "DELETE", path: w.definitionPath });
      await until("the group is no longer listed", async () => !(await listed()));
    },
  },
};
