// Is whereabouts at work here? The signs are put on the server one by one.
import { beforeEach, describe, expect, it } from "vitest";

import { configMaps, daemonSets, deployments, ipPools, leases, nodeSlicePools } from "../../src/cluster/resources.ts";
import { fetchState, readState } from "../../src/cluster/state.ts";
import { stateObject } from "../../src/cluster/testing/state.ts";
import { realClock } from "../../src/kube/clock.ts";
import { LeaseLock } from "../../src/kube/lease.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { detectUpstream } from "../../src/ledger/coexistence/upstream.ts";
import { Corner, type LedgerFixture } from "./fixture.ts";

const labels = { app: "x" };
const ownNamespace = {
  name: "WHEREABOUTS_NAMESPACE",
  valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } },
};
const template = (image: string) => ({
  metadata: { labels },
  spec: { containers: [{ name: "c", image: "busybox" }], initContainers: [{ name: "i", image, env: [ownNamespace] }] },
});
const hourMs = 3_600_000;

export function upstreamTests(fixture: LedgerFixture): void {
  describe("whereabouts", () => {
    let corner: Corner;
    beforeEach(async () => {
      corner = await Corner.of(fixture);
    });
    const look = (now = Date.now) => detectUpstream(corner.client, { systemNamespace: corner.namespace, now });

    it("is not active where nothing of it is there, whatever we and people write", async () => {
      await corner.pool("10.0.0.0-24", "10.0.0.0/24");
      const at = { namespace: corner.namespace, name: "10.0.0.0-24" };
      const body = { metadata: { labels: { edited: "yes" } } };
      await corner.client.patch(ipPools, at, { type: "merge", body }, { fieldManager: "kubectl-edit" });
      expect(await look()).toEqual({ active: false, reconciler: false, why: [], elsewhere: [] });
    });

    it("is not active by what stands in a namespace that nobody named: a tenant's image is no sign", async () => {
      const { client } = corner;
      const tenant = (await Corner.of(fixture)).namespace;
      const spec = { replicas: 1, selector: { matchLabels: labels }, template: template("apps/staff-whereabouts:1.0") };
      await client.create(deployments, { metadata: { namespace: tenant, name: "staff" }, spec });
      await client.create(daemonSets, { metadata: { namespace: tenant, name: "staff" }, spec });
      expect(await look()).toEqual({ active: false, reconciler: false, why: [], elsewhere: [] });
    });

    it.each([
      ["by the variable's value", [{ name: "WHEREABOUTS_NAMESPACE", value: "blue-pools" }], "blue-pools"],
      ["by its own namespace", [ownNamespace], undefined],
      ["as its kubeconfig does where nothing says it", [], "kube-system"],
    ])("has its pools where it keeps them: %s", async (_, env, expected) => {
      const { client, namespace } = corner;
      const multus = (await Corner.of(fixture)).namespace;
      const containers = [{ name: "c", image: "whereabouts:latest", env }];
      const spec = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } };
      await client.create(daemonSets, { metadata: { namespace: multus, name: "w" }, spec });
      const found = await detectUpstream(client, { systemNamespace: namespace, namespaces: [multus], now: Date.now });
      const elsewhere = [{ workload: `DaemonSet ${multus}/w`, namespace: expected ?? multus }];
      expect(found).toEqual({ active: false, reconciler: false, why: [], elsewhere });
    });

    it.each([
      ["ghcr.io/k8snetworkplumbingwg/whereabouts:v0.9.4", true],
      ["registry.example:5000/mirror/telekom-whereabouts@sha256:0123", true],
      ["ghcr.io/whereabouts/holdfast:1", false],
    ])("is active by a DaemonSet of the image %s: %s", async (image, active) => {
      const { client, namespace } = corner;
      const spec = { selector: { matchLabels: labels }, template: template(image) };
      const set = await client.create(daemonSets, { metadata: { namespace, name: "w" }, spec });
      const found = await look();
      await client.delete(daemonSets, { namespace, name: "w" });
      expect(found).toMatchObject({ active, reconciler: active });
      expect(found.why).toEqual(active ? [`DaemonSet ${namespace}/${set.metadata.name} runs whereabouts.`] : []);
    });

    it("is not active by a DaemonSet that wants no pods and has none left", async () => {
      const { client, namespace } = corner;
      const spec = { selector: { matchLabels: labels }, template: template("whereabouts:latest") };
      let set = await client.create(daemonSets, { metadata: { namespace, name: "w" }, spec });
      const seen: boolean[] = [];
      for (const [desiredNumberScheduled, currentNumberScheduled] of [
        [1, 0],
        [0, 1],
        [0, 0],
      ] as const) {
        const counts = { desiredNumberScheduled, currentNumberScheduled, numberMisscheduled: 0, numberReady: 0 };
        const status = { ...counts, observedGeneration: set.metadata.generation ?? 0 };
        set = await client.update(daemonSets, { ...set, status }, { subresource: "status" });
        seen.push((await look()).active);
      }
      await client.delete(daemonSets, { namespace, name: "w" });
      expect(seen).toEqual([true, true, false]);
    });

    it("is not active by a Deployment of no replicas, and is by one of one", async () => {
      const { client, namespace } = corner;
      const spec = { replicas: 0, selector: { matchLabels: labels }, template: template("whereabouts:latest") };
      const made = await client.create(deployments, { metadata: { namespace, name: "reconciler" }, spec });
      const idle = await look();
      await client.update(deployments, { ...made, spec: { ...made.spec, replicas: 1 } });
      const running = await look();
      await client.delete(deployments, { namespace, name: "reconciler" });
      expect(idle.active).toBe(false);
      expect(running).toMatchObject({ active: true, reconciler: true });
    });

    it("is active by its lease, for an hour", async () => {
      const { namespace } = corner;
      const nowMs = Date.now();
      const renewTime = new Date(nowMs).toISOString().replace("Z", "000Z");
      const theirs = new KubeClient({ transport: fixture.transport(), userAgent: "whereabouts/v0.9.4 (linux/amd64)" });
      await theirs.create(leases, {
        metadata: { namespace, name: "whereabouts" },
        spec: { holderIdentity: "", renewTime },
      });
      expect(await look(() => nowMs + hourMs - 1)).toMatchObject({ active: true, reconciler: false });
      expect(await look(() => nowMs + hourMs)).toMatchObject({ active: false });
      const briefly = { systemNamespace: namespace, now: () => nowMs + 60_000, lookBackMs: 60_000 };
      expect(await detectUpstream(corner.client, briefly)).toMatchObject({ active: false });
      expect(await detectUpstream(corner.client, { ...briefly, lookBackMs: 60_001 })).toMatchObject({ active: true });
    });

    it("is not active by its lease where a migration of ours held that last", async () => {
      const { client, namespace } = corner;
      const at = { namespace, name: "whereabouts" };
      await client.delete(leases, at).catch(() => {});
      const theirs = new KubeClient({ transport: fixture.transport(), userAgent: "whereabouts/v0.9.4 (linux/amd64)" });
      const renew = async (by: KubeClient, identity: string) => {
        const lock = new LeaseLock({ client: by, ...at, identity, leaseDurationMs: 1, clock: realClock });
        expect(await lock.tryHold(new AbortController().signal, 10_000)).toBe(true);
        await lock.release(new AbortController().signal, 10_000);
      };
      await renew(client, "holdfast-migrate/x");
      expect(await look()).toMatchObject({ active: false });
      await renew(theirs, "default/pod");
      expect(await look()).toMatchObject({ active: true });
      await client.delete(leases, at);
    });

    it("is active by a pool that it wrote, for an hour", async () => {
      await corner.pool("10.0.0.0-24", "10.0.0.0/24");
      const at = { namespace: corner.namespace, name: "10.0.0.0-24" };
      const theirs = new KubeClient({ transport: fixture.transport(), userAgent: "whereabouts/v0.9.4 (linux/amd64)" });
      const body = { spec: { allocations: { "1": { id: "c", podref: "d/a" } } } };
      await theirs.patch(ipPools, at, { type: "merge", body });
      const found = await look();
      expect(found).toMatchObject({ active: true, reconciler: false });
      expect(found.why[0]).toMatch(/"whereabouts" wrote IPPool .*\/10\.0\.0\.0-24 at /);
      expect(await look(() => Date.now() + 2 * hourMs)).toMatchObject({ active: false });
    });
  });

  it("a plain update writes the status of a NodeSlicePool: whereabouts' node-slice-controller knows no other way", async () => {
    const { client, namespace } = await Corner.of(fixture);
    const spec = { range: "10.0.0.0/16", sliceSize: "/24" };
    const made = await client.create(nodeSlicePools, { metadata: { namespace, name: "blue" }, spec });
    const allocations = [{ nodeName: "n1", sliceRange: "10.0.0.0/24" }];
    await client.update(nodeSlicePools, { ...made, status: { allocations } });
    expect((await client.get(nodeSlicePools, { namespace, name: "blue" })).status).toEqual({ allocations });
  });

  describe("the state", () => {
    it("is read as it was written, and as coexistence where there is none or it is spoilt", async () => {
      const { client, namespace } = await Corner.of(fixture);
      expect(readState(await fetchState(client, { namespace }))).toMatchObject({ coexistence: true, paused: "" });
      const state = { coexistence: false, why: "nothing of it was found", paused: "migration by anna" };
      const made = await client.create(configMaps, stateObject(namespace, state));
      expect(readState(await fetchState(client, { namespace }))).toEqual(state);
      const spoilt = await client.update(configMaps, { ...made, data: { coexistence: "maybe", paused: "by anna" } });
      expect(readState(spoilt)).toMatchObject({ coexistence: true, paused: "by anna" });
      expect(readState(spoilt).why).toContain('"maybe"');
    });
  });
}
