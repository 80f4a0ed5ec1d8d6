// The manifests in deploy/crds, as an administrator applies them, on a server that claims to be the Kubernetes API.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";

import { accepting, apply, get, mergePatch, post, put } from "../api/call.ts";
import { ApiClient } from "../api/client.ts";
import { condition, definitions } from "../api/crd.ts";
import { dig, type KubeObject } from "../api/object.ts";
import type { RunningServer } from "../api/suite.ts";
import { httpTransport } from "../api/transport.ts";
import { until } from "../api/until.ts";
import { badSamples, earlierPool, samples, whereaboutsDefinition } from "./samples.ts";

const folder = join(import.meta.dirname, "..", "..", "..", "deploy", "crds");
const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1";
const collections: Readonly<Record<string, string>> = {
  CustomResourceDefinition: definitions,
  FlowSchema: `${flowControl}/flowschemas`,
  PriorityLevelConfiguration: `${flowControl}/prioritylevelconfigurations`,
};
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
/** Two processes and a database on a busy machine. */
const startTimeoutMs = 180_000;

function manifests(): KubeObject[] {
  return readdirSync(folder).flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), "utf8")).map((document) => document.toJS() as KubeObject),
  );
}

/** `more` adds what only this server can be asked; it runs when the manifests are applied. */
export function kindsConformance(
  name: string,
  start: () => Promise<RunningServer>,
  more: (api: () => ApiClient) => void = () => {},
): void {
  describe(name, () => {
    let running: RunningServer;
    let api: ApiClient;
    let hangUp: (() => Promise<void>) | undefined;
    const applied: KubeObject[] = [];

    beforeAll(async () => {
      running = await start();
      const http = running.transport === undefined ? httpTransport(running.url, running.caPem) : undefined;
      hangUp = http?.close;
      api = new ApiClient(running.transport ?? http!.transport, running.token);
      await moveIn(api);
      for (const each of manifests()) applied.push(await applyManifest(api, each));
      // Served with our schema: the definition that was there before has no status subresource.
      const earlier = `${pools}/${earlierPool.metadata.name}`;
      await until("our IPPool is served", async () => (await api.send(get(`${earlier}/status`))).status === 200);
      for (const { plural, body } of samples) {
        await until(
          `${plural} is served`,
          async () => (await api.send(get(pathOf(body.apiVersion, plural)))).status === 200,
        );
      }
    }, startTimeoutMs);

    afterAll(async () => {
      await hangUp?.();
      await running?.stop();
    }, startTimeoutMs);

    it("every definition is established, structural, and takes its names", async () => {
      const crds = applied.filter(({ kind }) => kind === "CustomResourceDefinition");
      expect(crds.map(({ metadata }) => metadata.name).sort()).toEqual([
        "holds.holdfast.io",
        "ippools.whereabouts.cni.cncf.io",
        "nodeslicepools.whereabouts.cni.cncf.io",
        "overlappingrangeipreservations.whereabouts.cni.cncf.io",
      ]);
      for (const { metadata } of crds) {
        const seen = await until(`${metadata.name} is established`, async () => {
          const now = await api.done(get(`${definitions}/${metadata.name}`));
          return condition(now, "Established")?.status === "True" && now;
        });
        expect(condition(seen, "NamesAccepted")?.status).toBe("True");
        expect(condition(seen, "NonStructuralSchema")).toBeUndefined();
      }
    });

    it("a pool that whereabouts stored under its own definition is the same under ours, and can be written", async () => {
      const at = `${pools}/${earlierPool.metadata.name}`;
      expect((await api.done(get(at)))["spec"]).toEqual(earlierPool.spec);
      const entry = { id: "9a0b1c", podref: "default/web-1", ifname: "net1" };
      const after = await api.done(mergePatch(at, { spec: { allocations: { "2": entry } } }));
      expect(dig(after, "spec", "allocations")).toMatchObject({ "1": { id: "4f5c8d" }, "2": entry });
    });

    it("kubectl finds them by their short names", async () => {
      const { resources } = await api.done<{ resources: { name: string; shortNames?: string[] }[] }>(
        get("/apis/whereabouts.cni.cncf.io/v1alpha1"),
      );
      const short = resources.flatMap(({ name: plural, shortNames = [] }) =>
        shortNames.map((each) => `${each}=${plural}`),
      );
      expect(short.sort()).toEqual(["ipp=ippools", "nsp=nodeslicepools", "orip=overlappingrangeipreservations"]);
    });

    it("the places in fair queuing are taken as they are written", () => {
      const kinds = applied.filter(({ apiVersion }) => apiVersion === "flowcontrol.apiserver.k8s.io/v1");
      const given = manifests().filter(({ apiVersion }) => apiVersion === "flowcontrol.apiserver.k8s.io/v1");
      expect(given).toHaveLength(4);
      for (const each of given) {
        const found = kinds.find(({ kind, metadata }) => kind === each.kind && metadata.name === each.metadata.name);
        expect(found).toMatchObject({ spec: each["spec"] });
      }
    });

    it.each(samples)("$about: stored, and read back unchanged", async ({ plural, body, status }) => {
      const path = pathOf(body.apiVersion, plural);
      const made = await api.done(post(path, body));
      const at = `${path}/${made.metadata.name}`;
      // A running node-slice-controller writes the status of its pools by plain updates.
      const place = plural === "nodeslicepools" ? at : `${at}/status`;
      if (status !== undefined) await api.done(put(place, { ...made, status }));
      const read = await api.done(get(at));
      expect(read["spec"]).toEqual(body.spec);
      expect(read["status"]).toEqual(status);
      expect(read.metadata).toMatchObject(body.metadata);
    });

    it.each(badSamples)("$about: refused, and $field is named", async ({ plural, body, field }) => {
      const { apiVersion } = body as KubeObject;
      const refusal = await api.refused(post(pathOf(apiVersion, plural), body), 422, "Invalid");
      expect(refusal.details?.causes?.map((cause) => cause.field)).toContain(field);
    });

    it("the default of a hold's port is filled in", async () => {
      const sample = samples.find(({ plural }) => plural === "holds")!;
      const { port: _, ...owner } = dig(sample.body, "spec", "owner") as Record<string, unknown>;
      const body = { ...sample.body, metadata: { name: "defaulted" }, spec: { ...sample.body.spec, owner } };
      expect(dig(await api.done(post(pathOf(body.apiVersion, "holds"), body)), "spec", "owner", "port")).toBe("");
    });

    it("the columns show", async () => {
      const shown: Record<string, unknown> = {};
      for (const { plural, body } of samples) {
        const table = await api.done<object>(
          accepting(get(`${pathOf(body.apiVersion, plural)}/${body.metadata.name}`), asTable),
        );
        const names = dig(table, "columnDefinitions") as { name: string }[];
        const cells = dig(table, "rows", 0, "cells") as unknown[];
        shown[body.metadata.name!] = names
          .map((column, n) => `${column.name}=${String(cells[n])}`)
          .slice(1, -1)
          .join(" ");
      }
      expect(shown).toMatchObject({
        "192.168.2.0-24": expect.stringMatching(/^Range=192\.168\.2\.0\/24 Total=/) as string,
        "red-fd00---64": "Range=fd00::/64 Total=18446744073709551614 Used=1 Free=18446744073709551613 Ready=True",
        "fd00-0000-0000-0000-0000-0000-0000-0001": "PodRef=default/web-0 IfName=net1 ContainerID=4f5c8d Ready=True",
        red: "Range=10.0.0.0/8 SliceSize=/20 Total=4096 Assigned=1 Free=4095 Ready=True",
        "pool.default.10.0.0.0-8-10.0.0.7": "Address=10.0.0.7 Owner=vm-a.net1 Port= Domain=pool:default/10.0.0.0-8",
      });
    });

    it("another's status write leaves the allocations alone, and another's spec write the status", async () => {
      const at = `${pools}/192.168.2.0-24`;
      await api.done(mergePatch(`${at}/status`, { spec: { range: "1.2.3.0/24" }, status: { usedIPs: 2 } }));
      const after = await api.done(mergePatch(at, { spec: { later: true }, status: { usedIPs: 9 } }));
      expect(after).toMatchObject({ spec: { range: "192.168.2.0/24", later: true }, status: { usedIPs: 2 } });
      expect(Object.keys(dig(after, "spec", "allocations") as object)).toEqual(["1", "2"]);
    });

    more(() => api);
  });
}

/** A cluster in which whereabouts has been at work. */
async function moveIn(api: ApiClient): Promise<void> {
  await api.done(post(definitions, whereaboutsDefinition));
  await until("whereabouts' IPPool is served", async () => (await api.send(get(pools))).status === 200);
  await api.done(post(pools, earlierPool));
}

/** Server-side apply, over whatever is there: `kubectl apply --server-side --force-conflicts`. */
function applyManifest(api: ApiClient, manifest: KubeObject): Promise<KubeObject> {
  const path = `${collections[manifest.kind]!}/${manifest.metadata.name}`;
  return api.done(apply(path, manifest, { fieldManager: "administrator", force: true }));
}

const pathOf = (apiVersion: string, plural: string) => `/apis/${apiVersion}/namespaces/default/${plural}`;
const pools = pathOf("whereabouts.cni.cncf.io/v1alpha1", "ippools");
