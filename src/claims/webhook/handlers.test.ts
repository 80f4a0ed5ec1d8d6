// What the handlers read for an answer, and when they read nothing: a failing view stands for an absent API server.
import { describe, expect, test } from "vitest";

import { claimNicAnnotation, claimOwnerAnnotation } from "../../api/claims/claim-marks.ts";
import { hashedInterfaceName } from "../../api/claims/kubevirt.ts";
import type { ClaimsState } from "../../cluster/claims-state.ts";
import { persistenceOf } from "../../cni/config/persistence.ts";
import type { AdmissionRequest } from "../../kube/admission/admission-review.ts";
import type { AnyObject } from "../../kube/meta.ts";
import { claimHandler, type ClaimHandlerView } from "./claim-handler.ts";
import { launcherHandler, type LauncherView } from "./launcher-handler.ts";

const signal = new AbortController().signal;
const self = "system:serviceaccount:kube-system:holdfast-controller";
const networks = "k8s.v1.cni.cncf.io/networks";

const away = () => Promise.reject(new Error("the API server is away"));
const absent: LauncherView & ClaimHandlerView = {
  state: away,
  vm: away,
  vmi: away,
  claim: away,
  namespace: away,
  countClaims: away,
  definition: away,
  definitions: () => undefined,
  freshDefinitions: away,
  mayOverride: away,
};

const config = JSON.stringify({ name: "blue-net", type: "bridge", allowPersistentIPs: true });
const blue = { namespace: "t", name: "blue", config, persistence: persistenceOf(config) };
const on: ClaimsState = { gate: "on", needsLabel: false };
const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "vm1", uid: "vm" };
const networksOf = (...names: string[]) => names.map((name) => ({ name, multus: { networkName: "blue" } }));
const machine = {
  metadata: { name: "vm1", namespace: "t", uid: "vm" },
  spec: { template: { spec: { networks: networksOf("a") } } },
};
const instance = {
  metadata: { name: "vm1", namespace: "t", uid: "vmi", ownerReferences: [owner] },
  spec: { networks: networksOf("a") },
};
/** A cluster with VM vm1, which runs on one NIC, and no claim. */
const present: LauncherView & ClaimHandlerView = {
  state: async () => on,
  vm: async () => machine,
  vmi: async () => instance,
  claim: async () => undefined,
  namespace: async () => ({ limit: undefined, isTerminating: false }),
  countClaims: async () => 0,
  definition: async () => blue,
  definitions: () => [blue],
  freshDefinitions: async () => [blue],
  mayOverride: async () => false,
};

const asked = (more: Partial<AdmissionRequest>): AdmissionRequest => ({
  uid: "u",
  kind: { group: "", version: "v1", kind: "Pod" },
  resource: { group: "", version: "v1", resource: "pods" },
  subResource: undefined,
  name: "p",
  namespace: "t",
  operation: "CREATE",
  username: "somebody",
  groups: [],
  dryRun: false,
  object: undefined,
  oldObject: undefined,
  ...more,
});

const element = (nic: string, more: object = {}) => ({ name: "blue", interface: hashedInterfaceName(nic), ...more });
const pod = (elements: object[], metadata: Partial<AnyObject["metadata"]> = {}): AnyObject => ({
  metadata: {
    name: "p",
    labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "vmi" },
    annotations: { "kubevirt.io/domain": "vm1", [networks]: JSON.stringify(elements) },
    ...metadata,
  },
});

describe("a launcher pod", () => {
  const answer = (view: LauncherView, request: Partial<AdmissionRequest>) =>
    launcherHandler(view)(asked(request), { signal });
  const referring = element("a", { "ipam-claim-reference": "vm1.a" });
  /** The references that it writes; undefined: nothing. */
  const written = async (view: LauncherView, request: Partial<AdmissionRequest>) => {
    const reply = await answer(view, request);
    expect(reply.allowed).toBe(true);
    const [operation] = reply.allowed ? (reply.patch ?? []) : [];
    if (operation === undefined) return undefined;
    const list = JSON.parse((operation as { value: string }).value) as Record<string, unknown>[];
    return list.map((each) => each["ipam-claim-reference"]);
  };

  test.each<[string, Partial<AdmissionRequest>]>([
    ["its status is written", { operation: "UPDATE", subResource: "status", object: pod([]), oldObject: pod([]) }],
    ["it is deleted", { operation: "DELETE", oldObject: pod([element("a")]) }],
    [
      "its networks stay as they are",
      { operation: "UPDATE", object: pod([element("a")]), oldObject: pod([element("a")]) },
    ],
    ["it is on its way out", { object: pod([element("a")], { deletionTimestamp: "2026-01-01T00:00:00Z" }) }],
    ["it has no annotations", { object: { metadata: { labels: { "kubevirt.io": "virt-launcher" } } } }],
    ["it is none", { object: pod([element("a")], { labels: {} }) }],
    ["it is of no namespace", { namespace: undefined, object: pod([element("a")]) }],
  ])("nothing is read where %s", async (_name, request) => expect(await written(absent, request)).toBeUndefined());

  test("what cannot be read is an error, and the failure policy decides", async () => {
    await expect(answer(absent, { object: pod([element("a")]) })).rejects.toThrow("away");
  });

  test.each<[string, Partial<LauncherView>, unknown]>([
    ["all is there", {}, ["vm1.a"]],
    ["there is no VMI", { vmi: async () => undefined }, undefined],
    [
      "the VMI of that name is another",
      { vmi: async () => ({ ...instance, metadata: { name: "vm1", uid: "new" } }) },
      undefined,
    ],
    ["the definition is missing", { definition: async () => undefined }, undefined],
    ["the gate is off", { state: async () => ({ gate: "off", needsLabel: false }) }, undefined],
    ["nobody has said of the gate", { state: async () => ({ gate: "unknown", needsLabel: false }) }, undefined],
    ["a label is demanded", { state: async () => ({ gate: "on", needsLabel: true }) }, undefined],
    [
      "a label is demanded and the VM has it",
      {
        state: async () => ({ gate: "on", needsLabel: true }),
        vm: async () => ({ ...machine, metadata: { labels: { "allow-persistent-ips.k8s.cni.cncf.io": "true" } } }),
      },
      ["vm1.a"],
    ],
    [
      "the VM keeps out",
      { vm: async () => ({ ...machine, metadata: { labels: { "allow-persistent-ips.k8s.cni.cncf.io": "false" } } }) },
      undefined,
    ],
  ])("created where %s", async (_name, view, expected) => {
    expect(await written({ ...present, ...view }, { object: pod([element("a")]) })).toEqual(expected);
  });

  test("a list written anew has its references back, although its VMI is gone", async () => {
    const request = {
      operation: "UPDATE",
      oldObject: pod([referring, element("b")]),
      object: pod([element("a")]),
    } as const;
    expect(await written({ ...present, vmi: async () => undefined }, request)).toEqual(["vm1.a"]);
  });
});

describe("a claim", () => {
  const stored = (
    metadata: Partial<AnyObject["metadata"]> = {},
    spec: unknown = { network: "blue-net", interface: "" },
  ) => ({ metadata: { name: "vm1.a", namespace: "t", ...metadata }, spec }) as AnyObject;
  const owned = stored({ annotations: { [claimOwnerAnnotation]: "vm", [claimNicAnnotation]: "a" } });
  const answer = (view: ClaimHandlerView, request: Partial<AdmissionRequest>) =>
    claimHandler(view, () => self)(asked(request), { signal });

  test.each<[string, Partial<AdmissionRequest>]>([
    ["we create it", { username: self, object: owned }],
    ["we delete it", { username: self, operation: "DELETE", oldObject: owned }],
    [
      "garbage collection deletes it",
      { username: "system:kube-controller-manager", operation: "DELETE", oldObject: owned },
    ],
    ["its status is written", { operation: "UPDATE", subResource: "status", object: owned, oldObject: stored() }],
    ["it was made by hand and is deleted", { operation: "DELETE", oldObject: stored() }],
    ["nothing of ours changes", { operation: "UPDATE", object: stored({ labels: { a: "b" } }), oldObject: stored() }],
  ])("nothing is read where %s", async (_name, request) =>
    expect(await answer(absent, request)).toEqual({ allowed: true }),
  );

  test("what cannot be read is an error, and the failure policy decides", async () => {
    await expect(answer(absent, { object: stored() })).rejects.toThrow("away");
    await expect(answer(absent, { operation: "DELETE", oldObject: owned })).rejects.toThrow("away");
  });

  test("a network that the cache does not have is looked for on the server", async () => {
    const red = stored({}, { network: "red-net", interface: "" });
    expect(await answer(present, { object: red })).toMatchObject({ allowed: false, code: 422 });
    const fresh = { ...blue, persistence: { ...blue.persistence, network: "red-net" } };
    expect(await answer({ ...present, freshDefinitions: async () => [fresh] }, { object: red })).toEqual({
      allowed: true,
    });
    expect(await answer({ ...present, freshDefinitions: async () => undefined }, { object: red })).toEqual({
      allowed: true,
    });
  });

  test.each([[null], [{}], [{ network: 7 }]])("a spec of %o is no accident of ours", async (spec) => {
    expect(await answer(present, { object: stored({}, spec) })).toMatchObject({ allowed: false, code: 422 });
  });

  test("claims are counted only where there is a limit", async () => {
    const view = { ...present, countClaims: away };
    expect(await answer(view, { object: stored() })).toEqual({ allowed: true });
    const limited = async () => ({ limit: 1, isTerminating: false });
    expect(
      await answer({ ...present, namespace: limited, countClaims: async () => 1 }, { object: stored() }),
    ).toMatchObject({
      allowed: false,
    });
  });

  test("its owner is found under the name that is recorded, whatever the claim is called", async () => {
    const named = stored({
      name: "odd",
      annotations: { ...owned.metadata.annotations, "holdfast.io/claim-vm": "vm1" },
    });
    const only = async (_namespace: string, name: string) => (name === "vm1" ? machine : undefined);
    const view = { ...present, vm: only, vmi: async () => undefined };
    expect(await answer(view, { operation: "DELETE", oldObject: named })).toMatchObject({
      allowed: false,
    });
  });

  test("who may not override is refused with his reason, and who may is not", async () => {
    const oldObject = owned;
    const annotations = {
      ...owned.metadata.annotations,
      [claimOwnerAnnotation]: "me",
      "holdfast.io/override": "moved",
    };
    const request = { operation: "UPDATE", oldObject, object: stored({ annotations }) } as const;
    expect(await answer(present, request)).toMatchObject({ allowed: false });
    expect(await answer({ ...present, mayOverride: async () => true }, request)).toMatchObject({ allowed: true });
  });
});
