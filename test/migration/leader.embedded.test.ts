// What happens to the process, not to the VM: it is restarted, a northbound does not answer, OVN-Kubernetes is there.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { daemonSets, deployments, namespaces } from "../../src/cluster/resources.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { isTooOld } from "../../src/migration/leader/kubevirt-version.ts";
import type { Zones } from "../../src/migration/leader/placement-writer.ts";
import { zoneOrder } from "../../src/migration/leader/zone-order.ts";
import { kubevirtCrds } from "../claims/kubevirt/crds.ts";
import { until } from "../lab/wait.ts";
import { crds } from "../slices/leader-fixture.ts";
import { Fixture, networksAnnotation } from "./fixture.ts";

const stamp = { "kubevirt.io/migration-target-ready-timestamp": "2026-11-15 04:34:18 +0000 UTC" };
const receipt = "holdfast.io/migration-receipt";
/** Interconnected: each node is its own zone. */
const zones: Zones = { of: (node) => node, all: () => ["n1", "n2", "n3"] };

let f: Fixture;
beforeEach(async () => {
  f = await Fixture.open();
});
afterEach(() => f.close());

describe("a restart", () => {
  it("before the guest moved: the next one finishes it", async () => {
    const first = await f.lead();
    const vm = await f.started("vm1");
    const migration = await f.begun(vm, "n2");
    await f.shows("vm1", "n1 of n1: n1* n2");
    await first.stop();
    await migration.succeed();
    await f.lead();
    await f.shows("vm1", "n2 of n1: n2*");
    const text = await until(async () => (await f.annotationsOf(migration.target))[receipt], { what: "the receipt" });
    expect(JSON.parse(text)).toMatchObject({ end: "succeeded", isWhole: false });
  });

  it("after it: nothing moves, nothing is recorded again, and a target that came meanwhile gets its addresses", async () => {
    const first = await f.lead();
    const vm = await f.started("vm1");
    const { target } = await f.migrated(vm, "n2");
    await f.shows("vm1", "n2 of n1: n2*");
    const recorded = await until(async () => (await f.annotationsOf(target))[receipt], { what: "the receipt" });
    await first.stop();
    const later = await f.begun(vm, "n3");
    const second = await f.lead();
    await f.shows("vm1", "n2 of n1: n2* n3");
    expect((await f.annotationsOf(later.target))[networksAnnotation]).toContain('"10.244.1.4/24"');
    await f.annotate(later.target, stamp);
    await f.shows("vm1", "n3 of n1: n2 n3*");
    expect((await f.annotationsOf(target))[receipt]).toBe(recorded);
    expect(second.leader.receipts().map(({ target: { node }, end }) => `${node} ${end}`)).toEqual(["n3 undefined"]);
    expect(await f.events("AddressMoved")).toHaveLength(1);
  });

  it("when it is over: what is on record is not recorded again", async () => {
    const first = await f.lead();
    const vm = await f.started("vm1");
    const { target } = await f.migrated(vm, "n2");
    await until(async () => (await f.annotationsOf(target))[receipt], { what: "the receipt" });
    await first.stop();
    const { leader } = await f.lead();
    await f.migrated(vm, "n3");
    await until(async () => leader.receipts().some(({ end }) => end !== undefined), { what: "a receipt" });
    expect(leader.receipts().map(({ source, target: { node } }) => `${source?.node} ${node}`)).toEqual(["n2 n3"]);
  });

  it("in which VMs have gone: their rows go, those of VMs that run stay", async () => {
    const first = await f.lead();
    const vm = await f.started("vm1");
    const gone = await f.started("vm2");
    await first.stop();
    await f.kubevirt.delete(gone);
    await f.lead();
    await f.shows("vm2", "none");
    await f.shows("vm1", "n1 of n1: n1*");
    await f.migrated(vm, "n2");
    await f.shows("vm1", "n2 of n1: n2*");
  });

  it("of the northbound, which has lost everything", async () => {
    const { leader } = await f.lead();
    await f.started("vm1");
    f.writer.rows.clear();
    leader.rewrite();
    await f.shows("vm1", "n1 of n1: n1*");
  });
});

describe("a northbound that does not answer", () => {
  it("gets its rows when it does", async () => {
    const running = await f.lead();
    const vm = await f.started("vm1");
    f.writer.failing.set("global", 3);
    await f.migrated(vm, "n2");
    await f.shows("vm1", "n2 of n1: n2*");
    expect(f.writer.failing.get("global")).toBe(0);
    expect(f.moves).toEqual(["vm1 n1 > n2"]);
    await running.stop();
  });

  it("of the guest's new zone holds back the others; one that only routes holds back nobody", async () => {
    await f.lead({ zones });
    const vm = await f.started("vm1", "n1", "n1");
    const away = await f.begun(vm, "n2");
    for (const zone of zones.all()) await f.shows("vm1", "n1 of n1: n1* n2", zone);
    f.writer.failing.set("n2", 3);
    await away.succeed();
    for (const zone of zones.all()) await f.shows("vm1", "n2 of n1: n2*", zone);
    expect(f.writer.writes.find((each) => each.endsWith(" n2"))).toBe("n2 default/vm1 n2");
    const further = await f.begun(vm, "n3");
    for (const zone of zones.all()) await f.shows("vm1", "n2 of n1: n2* n3", zone);
    const before = f.writer.writes.length;
    f.writer.failing.set("n1", 3);
    await further.succeed();
    for (const zone of zones.all()) await f.shows("vm1", "n3 of n1: n3*", zone);
    const after = f.writer.writes.slice(before).filter((each) => each.endsWith(" n3"));
    expect(after[0]).toBe("n3 default/vm1 n3");
    expect(after.indexOf("n2 default/vm1 n3")).toBeLessThan(after.indexOf("n1 default/vm1 n3"));
    expect(f.moves).toEqual(["vm1 n1 > n2", "vm1 n2 > n3"]);
  });
});

describe("zones", () => {
  it("the guest's first, then those that route there, last where it was", () => {
    const port = (node: string, isActive: boolean) => ({ podName: node, podUid: node, node, isActive });
    const placement = { activeNode: "n3", ports: [port("n1", false), port("n3", true)] } as never;
    expect(zoneOrder(placement, zones)).toEqual(["n3", "n2", "n1"]);
    expect(zoneOrder("gone", zones)).toEqual(["n1", "n2", "n3"]);
    expect(zoneOrder(placement, { of: (node) => (node === "n2" ? node : undefined), all: () => ["n2"] })).toEqual([
      "n2",
    ]);
  });
});

describe("OVN-Kubernetes", () => {
  const part = (namespace: string, name: string) => {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: "ovnkube", image: "ovnkube" }] } };
    return { metadata: { namespace, name }, spec: { selector: { matchLabels: labels }, template } };
  };
  const make = async (namespace: string) =>
    void (await f.client.create(namespaces, { metadata: { name: namespace } }).catch(() => {}));

  it("runs: nothing is written, no row and no annotation, until it has gone", async () => {
    await make("ovn-kubernetes");
    await f.client.create(daemonSets, part("ovn-kubernetes", "ovnkube-node"));
    await f.lead();
    expect(await f.told("OvnkubeBeside")).toHaveLength(1);
    const vm = await f.kubevirt.create({
      namespace: "default",
      name: "vm1",
      nics: [],
      annotations: { "kubevirt.io/allow-pod-bridge-network-live-migration": "" },
    });
    await f.kubevirt.start(vm);
    await f.client.delete(daemonSets, { namespace: "ovn-kubernetes", name: "ovnkube-node" });
    expect(await f.told("OvnkubeGone")).toHaveLength(1);
    await f.shows("vm1", "n1 of n1: n1*");
    expect(f.writer.writes[0]).toMatch(/^global default\/vm1 /);
  });

  it("comes while we write: writing ends", async () => {
    await f.lead();
    const vm = await f.started("vm1");
    await make("openshift-ovn-kubernetes");
    await f.client.create(deployments, part("openshift-ovn-kubernetes", "ovnkube-control-plane"));
    await f.told("OvnkubeBeside");
    const before = f.writer.writes.length;
    const { target } = await f.migrated(vm, "n2");
    // Another turn of the controller: what it was woken for has been looked at by then.
    await f.client.delete(deployments, { namespace: "openshift-ovn-kubernetes", name: "ovnkube-control-plane" });
    await f.told("OvnkubeGone");
    await f.shows("vm1", "n2 of n1: n2*");
    expect(f.writer.writes.slice(before).filter((each) => !each.endsWith(" n2"))).toEqual([]);
    expect((await f.annotationsOf(target))[networksAnnotation]).toContain('"10.244.1.4/24"');
  });

  it("by name, in a tenant's namespace, stops nobody", async () => {
    await f.client.create(daemonSets, part("default", "ovnkube-node"));
    await f.lead();
    await f.started("vm1");
    expect(await f.events("OvnkubeBeside")).toEqual([]);
  });
});

describe("KubeVirt", () => {
  const kind = { group: "kubevirt.io", version: "v1", plural: "kubevirts", kind: "KubeVirt", namespaced: true };
  const kubevirts = defineResource<KubeObject & { status?: object }>(kind);
  const at = { namespace: "default", name: "kubevirt" };
  const definition = () => {
    const [first] = kubevirtCrds;
    const names = { plural: "kubevirts", singular: "kubevirt", kind: "KubeVirt" };
    return { ...first, metadata: { name: "kubevirts.kubevirt.io" }, spec: { ...(first!.spec as object), names } };
  };

  it.each([
    ["v0.59.2", true],
    ["v1.0.0", false],
    ["1.9.0-rc.0", false],
    ["", false],
    ["0123abcd", false],
  ])("%j is too old: %s", (version, isOld) => expect(isTooOld(version)).toBe(isOld));

  it("older than 1.0 is refused with the reason; an upgrade is enough", async () => {
    await f.client.create(crds, structuredClone(definition()));
    await until(() => f.client.list(kubevirts).then(() => true), { what: "the kind being served" });
    await f.client.create(kubevirts, { metadata: at, status: { observedKubeVirtVersion: "v0.59.2" } });
    await f.client.patch(
      kubevirts,
      at,
      { type: "merge", body: { status: { observedKubeVirtVersion: "v0.59.2" } } },
      { subresource: "status" },
    );
    await f.lead();
    const vm = await f.kubevirt.create({
      namespace: "default",
      name: "vm1",
      nics: [],
      annotations: { "kubevirt.io/allow-pod-bridge-network-live-migration": "" },
    });
    await f.kubevirt.start(vm);
    expect(await f.told("KubevirtTooOld")).toEqual([expect.stringMatching(/v0\.59\.2.*Upgrade KubeVirt/)]);
    expect(f.writer.writes).toEqual([]);
    const body = { status: { observedKubeVirtVersion: "v1.0.0" } };
    await f.client.patch(kubevirts, at, { type: "merge", body }, { subresource: "status" });
    await f.shows("vm1", "n1 of n1: n1*");
  });
});
