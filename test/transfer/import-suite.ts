// What taking over promises, on a server that claims to be the Kubernetes API.
import { describe, expect, it } from "vitest";

import { ipPools, type Pod, pods, reservations } from "../../src/cluster/resources.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { type ImportOptions, runImport } from "../../src/transfer/takeover/import.ts";
import { crds, definition, portrait, settleIn, system, village } from "./fixtures.ts";

/** Two hours on: whereabouts' lease, which migrations before have held, is not of this hour. */
const now = () => Date.now() + 2 * 3_600_000;
const spider = { group: "spiderpool.spidernet.io", version: "v2beta1" } as const;
const spiderPools = defineResource<AnyObject>({
  ...spider,
  plural: "spiderippools",
  kind: "SpiderIPPool",
  namespaced: false,
});
const spiderEndpoints = defineResource<AnyObject>({
  ...spider,
  plural: "spiderendpoints",
  kind: "SpiderEndpoint",
  namespaced: true,
});
const spiderReserved = defineResource<AnyObject>({
  ...spider,
  plural: "spiderreservedips",
  kind: "SpiderReservedIP",
  namespaced: false,
});

export function importSuite(clientOf: () => KubeClient): void {
  describe("import", () => {
    const options = (more: Partial<ImportOptions>): ImportOptions => ({
      client: clientOf(),
      source: "host-local",
      systemNamespace: system,
      mode: "write",
      files: [],
      now,
      signal: new AbortController().signal,
      ...more,
    });
    const records = async () =>
      (await clientOf().list(reservations)).items
        .map(({ metadata, spec }) => `${metadata.namespace}/${metadata.name} ${spec.podref}`)
        .sort();

    it("host-local: the running pod gets its address, a container that nobody knows keeps it, and again changes nothing", async () => {
      const client = clientOf();
      await settleIn(client, [definition("blue", "lan", { range: "10.1.0.0/24", network_name: "lan" })]);
      await runningPod(client, "blue", "web", [{ name: "blue/lan", interface: "net1", ips: ["10.1.0.5"] }]);
      const given = {
        definition: "blue/lan",
        folder: "/var/lib/cni/networks/lan",
        node: "otter",
        files: [
          { name: "10.1.0.5", text: "4f5c\r\nnet1" },
          { name: "10.1.0.6", text: "dead\r\nnet1" },
          { name: "lock", text: "" },
        ],
      };
      const before = await portrait(client);
      expect((await runImport(options({ ...given, mode: "dry-run" }))).lines.at(-1)).toBe(
        "2 addresses would be taken over, 0 were recorded already, 0 refused.",
      );
      expect(await portrait(client)).toEqual(before);
      expect(await runImport(options(given))).toMatchObject({ isClean: true });
      expect(await records()).toEqual(["kube-system/lan-10.1.0.5 blue/web", "kube-system/lan-10.1.0.6 /dead"]);
      expect((await client.list(reservations, { labelSelector: "holdfast.io/node=otter" })).items).toHaveLength(2);
      const after = await portrait(client);
      expect((await runImport(options(given))).lines.at(-1)).toBe(
        "0 addresses taken over, 2 were recorded already, 0 refused.",
      );
      expect(await portrait(client)).toEqual(after);
      expect(await runImport(options({ ...given, mode: "compare" }))).toMatchObject({
        isClean: true,
        lines: expect.arrayContaining(["Recorded for the pods that use them: 1 of 1 address."]) as string[],
      });
      const stranger = { ...given, files: [{ name: "10.1.0.5", text: "0000\r\nnet1" }], definition: "blue/nothing" };
      await expect(runImport(options(stranger))).rejects.toMatchObject({ code: "bad-source" });
      await client.delete(pods, { namespace: "blue", name: "web" }, { gracePeriodSeconds: 0 });
    });

    it("whereabouts: a record for every entry, and pools that may be handed out from", async () => {
      const client = clientOf();
      await settleIn(client, village);
      const before = await portrait(client);
      expect((await runImport(options({ source: "whereabouts", mode: "dry-run" }))).lines).toContainEqual(
        "IPPool kube-system/10.1.0.0-24: 3 entries would be adopted for blue/lan.",
      );
      expect(await portrait(client)).toEqual(before);
      const report = await runImport(options({ source: "whereabouts" }));
      expect(report.lines).toContainEqual("IPPool kube-system/10.1.0.0-24: 3 entries, 1 record made, adopted.");
      expect(report.isClean).toBe(true);
      expect(await records()).toContain("kube-system/10.1.0.9 blue/no-record");
      const adopted = (await client.list(ipPools)).items.filter(
        ({ metadata }) => metadata.annotations?.["holdfast.io/adopted"] !== undefined,
      );
      expect(adopted.map(({ metadata }) => metadata.name)).toEqual([
        "10.1.0.0-24",
        "10.2.0.0-24",
        "10.3.0.0-24",
        "fd00-2---64",
      ]);
    });

    it("Spiderpool: endpoints and pools into the definition whose range has them", async () => {
      const client = clientOf();
      await spiderDefinitions(client);
      await settleIn(client, [definition("blue", "lan", { range: "10.1.0.0/24" })]);
      const status = {
        allocatedIPs: JSON.stringify({
          "10.1.0.5": { pod: "blue/web", podUid: "u1" },
          "10.1.0.8": { pod: "blue/b", podUid: "u2" },
        }),
      };
      await client.create(spiderPools, { metadata: { name: "v4" }, spec: { subnet: "10.1.0.0/24" }, status });
      const current = { uid: "u1", node: "otter", ips: [{ interface: "net1", ipv4: "10.1.0.5/24" }] };
      await client.create(spiderEndpoints, { metadata: { namespace: "blue", name: "web" }, status: { current } });
      await client.create(spiderReserved, { metadata: { name: "router" }, spec: { ips: ["10.1.0.1"] } });
      const report = await runImport(options({ source: "spiderpool" }));
      expect(report).toMatchObject({ isClean: true });
      expect(report.lines).toEqual([
        expect.stringContaining("SpiderReservedIP router keeps 10.1.0.1"),
        "2 addresses taken over, 0 were recorded already, 0 refused.",
      ]);
      expect(await records()).toEqual(["kube-system/10.1.0.5 blue/web", "kube-system/10.1.0.8 blue/b"]);
      const web = await client.get(reservations, { namespace: system, name: "10.1.0.5" });
      expect(web.spec).toMatchObject({ ifname: "net1", poduid: "u1" });
    });
  });
}

async function runningPod(client: KubeClient, namespace: string, name: string, networks: object[]): Promise<void> {
  const annotations = { "k8s.v1.cni.cncf.io/network-status": JSON.stringify(networks) };
  const pod = { metadata: { namespace, name, annotations }, spec: { containers: [{ name: "main", image: "none" }] } };
  await client.create(pods, pod as Pod);
}

async function spiderDefinitions(client: KubeClient): Promise<void> {
  for (const { plural, kind, namespaced } of [spiderPools, spiderEndpoints, spiderReserved]) {
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const spec = {
      group: spider.group,
      scope: namespaced ? "Namespaced" : "Cluster",
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: spider.version, served: true, storage: true, schema }],
    };
    await client.create(crds, { metadata: { name: `${plural}.${spider.group}` }, spec });
  }
  for (const resource of [spiderPools, spiderEndpoints, spiderReserved]) {
    const isServed = () =>
      client.list(resource).then(
        () => true,
        (error: unknown) => {
          if (!isApiError(error, "not-found")) throw error;
          return false;
        },
      );
    await expect.poll(isServed, { timeout: 30_000 }).toBe(true);
  }
}
