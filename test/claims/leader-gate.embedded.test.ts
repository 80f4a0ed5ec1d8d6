// When claims are made at all: the gate, labels, quotas, kinds that come later; and what stands beside us.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../src/api/claims/claim-marks.ts";
import { readClaimsState } from "../../src/cluster/claims-state.ts";
import * as kinds from "../../src/cluster/resources.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { shop, Fixture, system } from "./leader-fixture.ts";

const kubevirts = defineResource<AnyObject>({
  group: "kubevirt.io",
  version: "v1",
  plural: "kubevirts",
  kind: "KubeVirt",
  namespaced: true,
});
const crds = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});
const webhooks = defineResource<AnyObject>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "mutatingwebhookconfigurations",
  kind: "MutatingWebhookConfiguration",
  namespaced: false,
});

let fixture: Fixture;
const open = async (isBare = false) => {
  fixture = await Fixture.open(await embeddedServer(), { isBare });
  await fixture.define("blue");
};
afterEach(() => fixture.close());

const toldGate = (gate: string) =>
  until(async () => readClaimsState({ data: await fixture.state() }).gate === gate, {
    what: `the gate told: ${gate}`,
    everyMs: 20,
  });
/** The leader has seen all earlier writes: a VM of its own, on a network that is always on, has come and gone. */
let barriers = 0;
const caughtUp = async () => {
  barriers += 1;
  const machine = await fixture.machine(`barrier-${barriers}`, { labels: { [marks.persistenceLabelName]: "true" } });
  await fixture.claimIs(`barrier-${barriers}.blue`, "made", () => true);
  await fixture.kubevirt.delete(machine);
  await fixture.claimGoes(`barrier-${barriers}.blue`);
};

describe("the gate", () => {
  beforeEach(() => open());

  it("is told to daemons, beside what others tell them", async () => {
    fixture.lead({ needsLabel: true });
    await toldGate("on");
    const state = await fixture.state();
    expect(readClaimsState({ data: state })).toEqual({ gate: "on", needsLabel: true });
    expect(state).toMatchObject({ coexistence: "off", sliced: expect.stringContaining("version") });
  });

  it("off: no new claims; what is held stays, and is freed with its VM", async () => {
    const first = fixture.lead();
    const machine = await fixture.started("vm1");
    await first.stop();
    fixture.lead({ gate: "off" });
    await toldGate("off");
    await fixture.machine("vm2");
    await fixture.kubevirt.stop(machine);
    await until(async () => (await fixture.books())[0]?.endsWith("vm1.blue 0") === true, { what: "no user" });
    expect(await fixture.claim("vm2.blue")).toBeUndefined();
    await fixture.kubevirt.delete(machine);
    await fixture.claimGoes("vm1.blue");
    await fixture.booksAre();
    expect(await fixture.claim("vm2.blue")).toBeUndefined();
  });

  it("kubevirt: follows the feature gate of the KubeVirt object", async () => {
    await fixture.client.create(crds, kubevirtCrd);
    fixture.lead({ gate: "kubevirt" });
    await fixture.machine("vm1");
    await toldGate("off");
    expect(await fixture.claim("vm1.blue")).toBeUndefined();
    const configuration = { developerConfiguration: { featureGates: ["VMPersistentIPs"] } };
    await until(
      async () =>
        fixture.client
          .create(kubevirts, { metadata: { namespace: shop, name: "kubevirt" }, spec: { configuration } })
          .then(() => true),
      { what: "the kind to be served" },
    );
    await fixture.claimIs("vm1.blue", "made", () => true);
    await toldGate("on");
  });

  it("leaves out a VM that opts out, and where labels are demanded one without", async () => {
    fixture.lead({ needsLabel: true });
    await fixture.machine("none");
    await fixture.machine("no", { labels: { [marks.persistenceLabelName]: "false" } });
    await caughtUp();
    expect(await fixture.claim("none.blue")).toBeUndefined();
    expect(await fixture.claim("no.blue")).toBeUndefined();
  });

  it("makes no more claims than the namespace may have, and the rest when there is room", async () => {
    const body = { metadata: { annotations: { [marks.maxClaimsAnnotation]: "1" } } };
    await fixture.client.patch(kinds.namespaces, { name: shop }, { type: "merge", body });
    fixture.lead();
    const first = await fixture.machine("vm1");
    await fixture.claimIs("vm1.blue", "made", () => true);
    await fixture.machine("vm2");
    await until(async () => (await fixture.events()).some((line) => line.startsWith("VirtualMachine vm2 ")), {
      what: "an event",
    });
    expect(await fixture.claim("vm2.blue")).toBeUndefined();
    await fixture.kubevirt.delete(first);
    await fixture.claimIs("vm2.blue", "made", () => true);
  });
});

describe("a limit that many meet at once", () => {
  it("is not passed", async () => {
    await open();
    const body = { metadata: { annotations: { [marks.maxClaimsAnnotation]: "3" } } };
    await fixture.client.patch(kinds.namespaces, { name: shop }, { type: "merge", body });
    for (let index = 0; index < 12; index++) await fixture.machine(`vm${index}`);
    fixture.lead();
    const refused = async () =>
      new Set((await fixture.events()).filter((line) => line.startsWith("VirtualMachine vm"))).size;
    await until(async () => (await refused()) === 9, { what: "nine that were refused" });
    expect((await fixture.client.list(kinds.ipamClaims, { namespace: shop })).items).toHaveLength(3);
  });
});

describe("kinds that come later", () => {
  it("are followed as soon as they are there", async () => {
    await open(true);
    fixture.lead();
    await toldGate("on");
    await fixture.installKinds();
    await fixture.started("vm1");
    expect(await fixture.books()).toHaveLength(1);
  });
});

describe("kubevirt/ipam-extensions beside us", () => {
  beforeEach(() => open());

  it("is said once, and its claims are left alone", async () => {
    const webhook = {
      name: "ipam-claims.k8s.cni.cncf.io",
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      failurePolicy: "Ignore",
      clientConfig: { service: { namespace: "none", name: "none" } },
      rules: [],
    };
    await fixture.client.create(webhooks, { metadata: { name: "kubevirt-ipam-controller" }, webhooks: [webhook] });
    const machine = await fixture.machine("vm1");
    const at = { namespace: shop, name: "vm1.blue" };
    const theirs = await fixture.client.create(kinds.ipamClaims, {
      metadata: {
        ...at,
        finalizers: [marks.upstreamClaimFinalizer],
        labels: { [marks.vmLabelName]: "vm1" },
        ownerReferences: [
          {
            apiVersion: "kubevirt.io/v1",
            kind: "VirtualMachine",
            name: "vm1",
            uid: machine.vmUid ?? "",
            controller: true,
          },
        ],
      },
      spec: { network: "blue", interface: "" },
    });
    const leader = fixture.lead();
    await fixture.told("ConfigMap holdfast-state IpamExtensionsBeside");
    expect(await leader.metric("holdfast_claims_ipam_extensions")).toBe(1);
    await caughtUp();
    expect((await fixture.claim("vm1.blue"))?.metadata.resourceVersion).toBe(theirs.metadata.resourceVersion);
    const said = (await fixture.events()).filter((line) => line.endsWith("IpamExtensionsBeside"));
    expect(said).toHaveLength(1);
    expect(
      (await fixture.client.get(kinds.configMaps, { namespace: system, name: "holdfast-state" })).data,
    ).toBeDefined();
  });
});

const openSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const kubevirtCrd: AnyObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "kubevirts.kubevirt.io" },
  spec: {
    group: "kubevirt.io",
    scope: "Namespaced",
    names: { plural: "kubevirts", singular: "kubevirt", kind: "KubeVirt" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: openSchema } }],
  },
};
