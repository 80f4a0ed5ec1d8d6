import { describe, expect, it } from "vitest";

import { describeOwner, type Owner, ownerKey, sameOwner, stableName } from "./owner.ts";

const pod: Owner = {
  kind: "pod",
  uid: "u1",
  namespace: "default",
  name: "web-0",
  interface: "eth0",
  containerId: "c1",
};
const others: readonly [string, Owner][] = [
  ["another interface of the pod", { ...pod, interface: "net1" }],
  ["a later pod of the same name", { ...pod, uid: "u2" }],
  ["the same name recorded without a UID", { ...pod, uid: "" }],
  ["a claim with the same UID", { kind: "claim", uid: "u1", namespace: "default", name: "web-0" }],
  ["a NIC with the same UID", { kind: "nic", uid: "u1", namespace: "default", name: "web-0", nic: "eth0" }],
];

describe("an owner", () => {
  it("is the same through a new sandbox and a new label of it", () => {
    expect(ownerKey({ ...pod, containerId: "c2" })).toBe(ownerKey(pod));
    expect(sameOwner({ ...pod, containerId: "c2" }, pod)).toBe(true);
  });

  it.each(others)("is not %s", (_what, other) => {
    expect(ownerKey(other)).not.toBe(ownerKey(pod));
    expect(sameOwner(other, pod)).toBe(false);
  });

  it("without a UID goes by namespace and name", () => {
    const legacy: Owner = { ...pod, uid: "" };
    expect(sameOwner(legacy, { ...legacy, namespace: "other" })).toBe(false);
    expect(sameOwner(legacy, { ...legacy, name: "web-1" })).toBe(false);
    expect(sameOwner(legacy, { ...legacy })).toBe(true);
  });

  it("keeps its stable name when it is created again", () => {
    expect(stableName({ ...pod, uid: "u2" })).toBe(stableName(pod));
  });

  it("is described for people", () => {
    expect(describeOwner(pod)).toBe("pod default/web-0 (eth0)");
    expect(describeOwner({ kind: "claim", uid: "u", namespace: "n", name: "vm.net" })).toBe("claim n/vm.net");
    expect(describeOwner({ kind: "nic", uid: "u", namespace: "n", name: "vm", nic: "net0" })).toBe("VM n/vm (net0)");
  });
});
