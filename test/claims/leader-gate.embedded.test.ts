// When claims are made at all: the gate, labels, quotas, kinds that come later; and what stands beside us.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../src/api/claims/claim-marks.ts";
import { readClaimsState } from "../../src/cluster/claims-state.ts";
import * as kinds from "../../src/cluster/resources.ts";
import type { AnyObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { shop, Stage, system } from "./leader-stage.ts";

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

let stage: Stage;
const open = async (isBare = false) => {
  stage = await Stage.open(await embeddedServer(), { isBare });
  await stage.define("blue");
};
afterEach(() => stage.close());

const toldGate = (gate: string) =>
  until(async () => readClaimsState({ data: await stage.state() }).gate === gate, {
    what: `the gate told: ${gate}`,
    everyMs: 20,
  });
/** The leader has seen all that was written before: a VM of its own, on a network that is always on, has come and gone. */
let barriers = 0;
const caughtUp = async () => {
  barriers += 1;
  const machine = await stage.machine(`barrier-${barriers}`, { labels: { [marks.persistenceLabelName]: "true" } });
  await stage.claimIs(`barrier-${barriers}.blue`, "made", () => true);
  await stage.kubevirt.delete(machine);
  await stage.claimGoes(`barrier-${barriers}.blue`);
};

describe("the gate", { timeout: 60_000 }, () => {
  beforeEach(() => open());

  it("is told to daemons, beside what others tell them", async () => {
    stage.lead({ needsLabel: true });
    await toldGate("on");
    const state = await stage.state();
    expect(readClaimsState({ data: state })).toEqual({ gate: "on", needsLabel: true });
    expect(state).toMatchObject({ coexistence: "off", sliced: expect.stringContaining("version") });
  });

  it("off: no new claims; what is held stays, and is freed with its VM", async () => {
    const first = stage.lead();
    const machine = await stage.started("vm1");
    await first.stop();
    stage.lead({ gate: "off" });
    await toldGate("off");
    await stage.machine("vm2");
    await stage.kubevirt.stop(machine);
    await until(async () => (await stage.books())[0]?.endsWith("vm1.blue 0") === true, { what: "no user" });
    expect(await stage.claim("vm2.blue")).toBeUndefined();
    await stage.kubevirt.delete(machine);
    await stage.claimGoes("vm1.blue");
    await stage.booksAre();
    expect(await stage.claim("vm2.blue")).toBeUndefined();
  });

  it("kubevirt: follows the feature gate of the KubeVirt object", async () => {
    await stage.client.create(crds, kubevirtCrd);
    stage.lead({ gate: "kubevirt" });
    await stage.machine("vm1");
    await toldGate("off");
    expect(await stage.claim("vm1.blue")).toBeUndefined();
    const configuration = { developerConfiguration: { featureGates: ["VMPersistentIPs"] } };
    await until(
      async () =>
        stage.client
          .create(kubevirts, { metadata: { namespace: shop, name: "kubevirt" }, spec: { configuration } })
          .then(() => true),
      { what: "the kind to be served" },
    );
    await stage.claimIs("vm1.blue", "made", () => true);
    await toldGate("on");
  });

  it("leaves out a VM that opts out, and where labels are demanded one without", async () => {
    stage.lead({ needsLabel: true });
    await stage.machine("none");
    await stage.machine("no", { labels: { [marks.persistenceLabelName]: "false" } });
    await caughtUp();
    expect(await stage.claim("none.blue")).toBeUndefined();
    expect(await stage.claim("no.blue")).toBeUndefined();
  });

  it("makes no more claims than the namespace may have, and the rest when there is room", async () => {
    const body = { metadata: { annotations: { [marks.maxClaimsAnnotation]: "1" } } };
    await stage.client.patch(kinds.namespaces, { name: shop }, { type: "merge", body });
    stage.lead();
    const first = await stage.machine("vm1");
    await stage.claimIs("vm1.blue", "made", () => true);
    await stage.machine("vm2");
    await until(async () => (await stage.events()).some((line) => line.startsWith("VirtualMachine vm2 ")), {
      what: "an event",
    });
    expect(await stage.claim("vm2.blue")).toBeUndefined();
    await stage.kubevirt.delete(first);
    await stage.claimIs("vm2.blue", "made", () => true);
  });
});

describe("a limit that many meet at once", { timeout: 60_000 }, () => {
  it("is not passed", async () => {
    await open();
    const body = { metadata: { annotations: { [marks.maxClaimsAnnotation]: "3" } } };
    await stage.client.patch(kinds.namespaces, { name: shop }, { type: "merge", body });
    for (let index = 0; index < 12; index++) await stage.machine(`vm${index}`);
    stage.lead();
    const refused = async () =>
      new Set((await stage.events()).filter((line) => line.startsWith("VirtualMachine vm"))).size;
    await until(async () => (await refused()) === 9, { what: "nine that were refused" });
    expect((await stage.client.list(kinds.ipamClaims, { namespace: shop })).items).toHaveLength(3);
  });
});

describe("kinds that come later", { timeout: 60_000 }, () => {
  it("are followed as soon as they are there", async () => {
    await open(true);
    stage.lead();
    await toldGate("on");
    await stage.installKinds();
    await stage.started("vm1");
    expect(await stage.books()).toHaveLength(1);
  });
});

describe("kubevirt/ipam-extensions beside us", { timeout: 60_000 }, () => {
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
    await stage.client.create(webhooks, { metadata: { name: "kubevirt-ipam-controller" }, webhooks: [webhook] });
    const machine = await stage.machine("vm1");
    const at = { namespace: shop, name: "vm1.blue" };
    const theirs = await stage.client.create(kinds.ipamClaims, {
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
    const leader = stage.lead();
    await stage.told("ConfigMap holdfast-state IpamExtensionsBeside");
    expect(await leader.metric("holdfast_claims_ipam_extensions")).toBe(1);
    await caughtUp();
    expect((await stage.claim("vm1.blue"))?.metadata.resourceVersion).toBe(theirs.metadata.resourceVersion);
    const said = (await stage.events()).filter((line) => line.endsWith("IpamExtensionsBeside"));
    expect(said).toHaveLength(1);
    expect(
      (await stage.client.get(kinds.configMaps, { namespace: system, name: "holdfast-state" })).data,
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
