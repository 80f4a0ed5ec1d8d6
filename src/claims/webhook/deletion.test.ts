import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  claimInstanceAnnotation,
  claimNicAnnotation,
  claimOwnerAnnotation,
  overrideAnnotation,
} from "../../api/claims/claim-marks.ts";
import type { VmInterface, VmNetwork } from "../../api/claims/kubevirt.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import { isTrusted } from "../../kube/admission/requester.ts";
import { asksToDelete, judgeDeletion, type Machine } from "./claim-rules.ts";
import { claim, owned, words } from "./testing/claim.ts";

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
