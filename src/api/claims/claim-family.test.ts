import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { familyKeysOf, holdFamilyOf, homeOf, machineOf } from "./claim-family.ts";
import { claimName, claimOwnerAnnotation, claimVmAnnotation, swappedClaimName, vmLabelName } from "./claim-marks.ts";

const reference = (name: string, uid: string) => ({ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid });

describe("the home of a claim", () => {
  it.each([
    ["the reference to the recorded owner", { ownerReferences: [reference("ref", "u")] }, "t/ref"],
    ["not a reference of another life", { ownerReferences: [reference("ref", "old")] }, "t/noted"],
    ["what was noted", {}, "t/noted"],
    ["the label", { annotations: { [claimOwnerAnnotation]: "u" } }, "t/label"],
    ["its own name", { annotations: { [claimOwnerAnnotation]: "u" }, labels: {} }, "t/vm.with.dots"],
  ])("is told by %s", (_, change, expected) => {
    const metadata = {
      name: "vm.with.dots.net",
      namespace: "t",
      annotations: { [claimOwnerAnnotation]: "u", [claimVmAnnotation]: "noted" },
      labels: { [vmLabelName]: "label" },
      ...change,
    };
    expect(homeOf({ metadata })).toBe(expected);
  });

  it("of one that was made by hand without a dot is a family of its own", () => {
    expect(familyKeysOf({ metadata: { name: "stake", namespace: "t" } })).toEqual(["t/stake"]);
  });

  it("and the VM whose name it takes are its families", () => {
    const metadata = { name: "a.n", namespace: "t", labels: { [vmLabelName]: "b" } };
    expect(familyKeysOf({ metadata })).toEqual(["t/b", "t/a"]);
  });
});

const vmName = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]{1,5})?$/);
const nicName = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);

describe("the VM that a claim is for", () => {
  it.each([
    ["by its reference", { name: "x", ownerReferences: [reference("db", "u")] }, false, "db"],
    ["none, of one made by hand, also where it has a dot", { name: "front.printer" }, false, ""],
    ["by its name, once it is gone", { name: "db.blue" }, true, "db"],
    ["none, of one made by hand that is gone", { name: "printer" }, true, ""],
  ])("%s", (_, metadata, isGone, vm) => {
    expect(machineOf({ metadata: { namespace: "t", ...metadata } }, isGone)).toBe(vm);
  });
});

describe("the family of a hold whose claim is gone", () => {
  it("is that of the VM, for every plain name and for names of swapped networks", () => {
    fc.assert(
      fc.property(vmName, nicName, nicName, (vm, nic, network) => {
        for (const name of [claimName(vm, nic), swappedClaimName(vm, nic, network)]) {
          expect(holdFamilyOf({ namespace: "t", name })).toBe(`t/${vm}`);
        }
      }),
    );
  });
});
