import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  claimFinalizer,
  claimInstanceAnnotation,
  claimNicAnnotation,
  claimOwnerAnnotation,
  continuesAnnotation,
  macLabelName,
  managedLabelName,
  overrideAnnotation,
  requestedAnnotation,
} from "../../api/claim-marks.ts";
import type { VmInterface, VmNetwork } from "../../api/kubevirt.ts";
import type { AdmissionReply } from "../../kube/admission-review.ts";
import type { StoredClaim } from "../../ledger/resources.ts";
import { type CreationFacts, isNear, judgeCreation } from "./creation.ts";
import { asksToDelete, judgeDeletion, type Machine } from "./deletion.ts";
import { asksToOverride, judgeUpdate } from "./marks.ts";
import { isTrusted } from "./requester.ts";

type Metadata = StoredClaim["metadata"];
const claim = (metadata: Partial<Metadata> = {}, network = "blue-net"): StoredClaim => ({
  metadata: { namespace: "t", name: "vm1.a", ...metadata },
  spec: { network, interface: "" },
});
const owned = (more: Partial<Metadata> = {}) =>
  claim({ annotations: { [claimOwnerAnnotation]: "vm", [claimNicAnnotation]: "a" }, ...more });
/** `allowed`, or the refusal's words. */
const words = (reply: AdmissionReply) => (reply.allowed ? "allowed" : reply.message);

describe("create", () => {
  const networks = [
    { namespace: "t", name: "blue", network: "blue-net" },
    { namespace: "t", name: "green", network: "green-net" },
    { namespace: "elsewhere", name: "red", network: "red-net" },
  ];
  const facts: CreationFacts = {
    claim: claim(),
    namespace: "t",
    networks,
    limit: undefined,
    count: 0,
    isOverridden: false,
  };
  const restored = { labels: { "velero.io/restore-name": "monday" } };
  test.each<[string, Partial<CreationFacts>, string]>([
    ["a network that is there", {}, "allowed"],
    ["one of a definition of another namespace", { claim: claim({}, "red-net") }, "allowed"],
    ["definitions that are not known", { claim: claim({}, "x"), networks: undefined }, "allowed"],
    [
      "the definition's name instead of the network's",
      { claim: claim({}, "blue") },
      "calls its network blue-net: write that",
    ],
    ["a slip of the hand", { claim: claim({}, "blu-net") }, "Those of t are blue-net."],
    ["something else altogether", { claim: claim({}, "orange") }, "Those of t are blue-net, green-net."],
    ["nothing", { claim: claim({}, "") }, "Those of t are blue-net, green-net."],
    ["no definition in the namespace", { claim: claim({}, "x"), namespace: "empty" }, "make the definition first"],
    ["unknown, from a backup: its network comes later", { claim: claim(restored, "x") }, "allowed"],
    ["unknown, overridden", { claim: claim({}, "x"), isOverridden: true }, "allowed"],
    ["room left", { limit: 2, count: 1 }, "allowed"],
    ["no room left", { limit: 2, count: 2 }, "may have 2 claims (annotation holdfast.io/max-claims) and has 2"],
    ["more than there may be since the limit was lowered", { limit: 1, count: 5 }, "may have 1 claims"],
    ["from a backup, and no room left", { claim: claim(restored), limit: 1, count: 1 }, "may have 1 claims"],
    ["marks of ours, by another", { claim: owned() }, `the annotation ${claimOwnerAnnotation}`],
    [
      "a claim that would continue another's",
      { claim: claim({ annotations: { [continuesAnnotation]: "u" } }) },
      `the annotation ${continuesAnnotation}`,
    ],
    ["our finalizer, by another", { claim: claim({ finalizers: [claimFinalizer] }) }, "the finalizer"],
    ["our label, by another", { claim: claim({ labels: { [managedLabelName]: "true" } }) }, "the label"],
    ["marks of ours, from a backup", { claim: owned(restored) }, "allowed"],
    ["marks of ours, overridden", { claim: owned(), isOverridden: true }, "allowed"],
    [
      "addresses asked for by hand",
      { claim: claim({ annotations: { [requestedAnnotation]: "10.0.0.7" } }) },
      "allowed",
    ],
    [
      "a name that is still to be made",
      { claim: { ...claim({}, "x"), metadata: { generateName: "c-" } } },
      "IPAMClaim t/c-",
    ],
  ])("%s", (_name, more, expected) => expect(words(judgeCreation({ ...facts, ...more }))).toContain(expected));

  test("a network of another tenant is not given away", () => {
    expect(words(judgeCreation({ ...facts, claim: claim({}, "red-ne") }))).not.toContain("red-net");
  });

  test("what is let through although its network is unknown is said", () => {
    expect(judgeCreation({ ...facts, claim: claim(restored, "x") }).warnings).toHaveLength(1);
  });

  /** The slow way: all words that are two changes away. */
  test("near is two letters changed, added or left out", () => {
    const letters = ["a", "b"];
    const once = (word: string) => [
      ...Array.from(word, (_, at) => word.slice(0, at) + word.slice(at + 1)),
      ...Array.from({ length: word.length + 1 }, (_, at) =>
        letters.map((letter) => word.slice(0, at) + letter + word.slice(at)),
      ).flat(),
      ...Array.from(word, (_, at) => letters.map((letter) => word.slice(0, at) + letter + word.slice(at + 1))).flat(),
    ];
    const word = fc.string({ unit: fc.constantFrom(...letters), maxLength: 5 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        const all = new Set([a, ...once(a), ...once(a).flatMap(once)]);
        expect(isNear(a, b)).toBe(all.has(b));
      }),
    );
  });
});

describe("update", () => {
  const before = owned({
    labels: { [managedLabelName]: "true", [macLabelName]: "02-00-00-00-00-01" },
    finalizers: [claimFinalizer],
  });
  const after = (metadata: Partial<Metadata>): StoredClaim => ({
    ...before,
    metadata: { ...before.metadata, ...metadata },
  });
  const judge = (change: StoredClaim, more: { isTrusted?: boolean; isOverridden?: boolean } = {}, from = before) =>
    judgeUpdate({ before: from, after: change, isTrusted: false, isOverridden: false, ...more });
  const annotations = { ...before.metadata.annotations };

  test.each<[string, StoredClaim, string]>([
    ["nothing", before, "allowed"],
    ["a label of his own", after({ labels: { ...before.metadata.labels, team: "a" } }), "allowed"],
    ["an annotation of his own", after({ annotations: { ...annotations, note: "x" } }), "allowed"],
    ["an owner reference: garbage collection's", after({ ownerReferences: [] }), "allowed"],
    ["another finalizer", after({ finalizers: [claimFinalizer, "example.com/backup"] }), "allowed"],
    ["a field of the spec that we do not know", { ...before, spec: { ...before.spec, ipRequests: ["x"] } }, "allowed"],
    ["the owner", after({ annotations: { ...annotations, [claimOwnerAnnotation]: "me" } }), claimOwnerAnnotation],
    ["the NIC away", after({ annotations: { [claimOwnerAnnotation]: "vm" } }), claimNicAnnotation],
    [
      "an instance",
      after({ annotations: { ...annotations, [claimInstanceAnnotation]: "x" } }),
      claimInstanceAnnotation,
    ],
    ["all labels away", after({ labels: {} }), managedLabelName],
    ["the MAC of a claim of ours", after({ labels: { [managedLabelName]: "true" } }), macLabelName],
    [
      "what a claim of ours asked for",
      after({ annotations: { ...annotations, [requestedAnnotation]: "10.0.0.9" } }),
      requestedAnnotation,
    ],
    ["our finalizer away", after({ finalizers: [] }), claimFinalizer],
    ["the network", { ...before, spec: { ...before.spec, network: "red-net" } }, 'spec.network is "blue-net"'],
    ["the interface", { ...before, spec: { ...before.spec, interface: "net1" } }, 'spec.interface is ""'],
  ])("%s", (_name, change, expected) => expect(words(judge(change))).toContain(expected));

  test("a claim made by hand: its owner asks for addresses, and gives himself no owner and no finalizer", () => {
    const hand = claim();
    const asking = claim({ annotations: { [requestedAnnotation]: "10.0.0.7" }, labels: { [macLabelName]: "x" } });
    expect(words(judge(asking, {}, hand))).toBe("allowed");
    expect(words(judge(owned(), {}, hand))).toContain(claimOwnerAnnotation);
    expect(words(judge(claim({ finalizers: [claimFinalizer] }), {}, hand))).toContain(claimFinalizer);
  });

  test("we write our marks; the spec nobody changes", () => {
    expect(words(judge(after({ annotations: {}, finalizers: [] }), { isTrusted: true }))).toBe("allowed");
    const moved = { ...before, spec: { ...before.spec, network: "red-net" } };
    expect(words(judge(moved, { isTrusted: true, isOverridden: true }))).toContain("cannot become");
  });

  test("overridden: allowed, and said", () => {
    const reply = judge(after({ finalizers: [] }), { isOverridden: true });
    expect(words(reply)).toBe("allowed");
    expect(reply.warnings).toEqual([expect.stringContaining(claimFinalizer)]);
  });

  test.each([
    [undefined, "restored", true],
    ["restored", "restored again", true],
    ["restored", "restored", false],
    [undefined, "  ", false],
    ["restored", undefined, false],
  ])("override: %j before, %j now", (old, now, expected) => {
    const said = (text: string | undefined) =>
      claim({ annotations: text === undefined ? {} : { [overrideAnnotation]: text } });
    expect(asksToOverride(said(old), said(now))).toBe(expected);
  });
});

interface Has {
  readonly uid: string;
  readonly deleting?: boolean;
  /** NAME, or NAME! where it is absent. */
  readonly nics?: string;
  /** Of a VMI: the UID of its VM. */
  readonly of?: string;
}

function machine(vm: Has | undefined, vmi: Has | undefined): Machine {
  const metadata = ({ uid, deleting, of }: Has) => ({
    name: "vm1",
    namespace: "t",
    uid,
    ...(deleting === true && { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    ...(of !== undefined && {
      ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "vm1", uid: of }],
    }),
  });
  const spec = ({ nics = "a b" }: Has) => {
    const names = nics === "" ? [] : nics.split(" ");
    const networks: VmNetwork[] = names.map((name) => ({ name: name.replace("!", ""), multus: { networkName: "x" } }));
    const interfaces: VmInterface[] = names.map((name) => ({
      name: name.replace("!", ""),
      ...(name.endsWith("!") && { state: "absent" }),
    }));
    return { networks, domain: { devices: { interfaces } } };
  };
  return {
    vm: vm && { metadata: metadata(vm), spec: { template: { spec: spec(vm) } } },
    vmi: vmi && { metadata: metadata(vmi), spec: spec(vmi) },
  };
}

describe("delete", () => {
  const alive: Has = { uid: "vm" };
  const running: Has = { uid: "vmi", of: "vm" };
  const judge = (
    machines: readonly Machine[],
    more: { claim?: StoredClaim; isTerminating?: boolean; isOverridden?: boolean } = {},
  ) => judgeDeletion({ claim: owned(), isTerminating: false, isOverridden: false, machines, ...more });
  const orphaned = owned({
    annotations: { [claimOwnerAnnotation]: "gone", [claimNicAnnotation]: "a", [claimInstanceAnnotation]: "vmi" },
  });
  test.each<[string, Has | undefined, Has | undefined, boolean]>([
    ["the VM runs", alive, running, false],
    ["the VM is stopped", alive, undefined, false],
    ["the VM is being stopped: its VMI goes, it stays", alive, { ...running, deleting: true }, false],
    ["the VM is being deleted", { ...alive, deleting: true }, running, true],
    ["the VM is gone", undefined, undefined, true],
    ["another VM has its name", { uid: "new" }, { uid: "vmi2", of: "new" }, true],
    ["the NIC is absent in the VM, and not yet in the VMI", { ...alive, nics: "a! b" }, running, false],
    ["the NIC is absent in both", { ...alive, nics: "a! b" }, { ...running, nics: "a! b" }, true],
    ["the NIC is gone from both", { ...alive, nics: "b" }, { ...running, nics: "b" }, true],
    ["the NIC is gone from the VM, which has no VMI", { ...alive, nics: "b" }, undefined, true],
    ["the NIC is gone from the VM's template only", { ...alive, nics: "b" }, running, false],
    ["a VMI without a VM runs", undefined, { uid: "vm" }, false],
    ["a VMI without a VM is being deleted", undefined, { uid: "vm", deleting: true }, true],
    ["the VM is gone, its VMI runs on", undefined, running, false],
  ])("%s", (_name, vm, vmi, isAllowed) => expect(judge([machine(vm, vmi)]).allowed).toBe(isAllowed));

  test.each<[string, Parameters<typeof judge>[1], boolean]>([
    ["made by hand", { claim: claim() }, true],
    ["being deleted already", { claim: owned({ deletionTimestamp: "2026-01-01T00:00:00Z" }) }, true],
    ["its namespace ends", { isTerminating: true }, true],
    ["overridden", { isOverridden: true }, true],
    [
      "without a record, by reference and name",
      {
        claim: claim({
          ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "vm1", uid: "vm" }],
        }),
      },
      false,
    ],
    ["none of these", {}, false],
  ])("of a VM that runs: %s", (_name, more, isAllowed) => {
    expect(judge([machine(alive, running)], more).allowed).toBe(isAllowed);
  });

  test("a VM that was deleted without its VMI: the VMI's claim", () => {
    expect(judge([machine(undefined, { uid: "vmi" })], { claim: orphaned }).allowed).toBe(false);
    expect(judge([machine(undefined, { uid: "vmi", nics: "b" })], { claim: orphaned }).allowed).toBe(true);
  });

  test("the refusal names VM and network, and what to do", () => {
    expect(words(judge([machine(alive, running)]))).toMatch(
      /IPAMClaim t\/vm1\.a .*VirtualMachine t\/vm1 \(network a\).*absent/,
    );
  });

  test.each([
    [undefined, false],
    ["", false],
    ["given to its owner by hand", false],
    ["deleted by mistake", false],
    ["delete: moved to another cluster", true],
    ["Delete it", true],
  ])("override %j asks to delete: %s", (text, expected) => {
    const annotations = text === undefined ? {} : { [overrideAnnotation]: text };
    expect(asksToDelete(claim({ annotations }))).toBe(expected);
  });

  test("the second of several names may be the owner's", () => {
    expect(judge([machine(undefined, undefined), machine(alive, running)]).allowed).toBe(false);
  });

  test("never refused where nobody of that UID lives, whatever else is there", () => {
    const some = fc.option(
      fc.record({
        uid: fc.constantFrom("x", "y"),
        deleting: fc.boolean(),
        nics: fc.constantFrom("a", "a!", "b", ""),
        of: fc.constantFrom("x", "z"),
      }),
      { nil: undefined },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(some, some), { maxLength: 3 }), (all) => {
        expect(judge(all.map(([vm, vmi]) => machine(vm, vmi))).allowed).toBe(true);
      }),
    );
  });
});

test.each([
  ["system:serviceaccount:kube-system:holdfast-controller", true],
  ["system:serviceaccount:kube-system:generic-garbage-collector", true],
  ["system:serviceaccount:kube-system:namespace-controller", true],
  ["system:kube-controller-manager", true],
  ["system:serviceaccount:tenant:holdfast-controller", false],
  ["kubernetes-admin", false],
  ["", false],
])("%s is trusted: %s", (username, expected) => {
  expect(
    isTrusted({ username, groups: ["system:masters"] }, "system:serviceaccount:kube-system:holdfast-controller"),
  ).toBe(expected);
});
