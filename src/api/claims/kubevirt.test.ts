import { describe, expect, it } from "vitest";

import { hashedInterfaceName, nicOf, type VmiSpec } from "./kubevirt.ts";

const spec: VmiSpec = {
  networks: [
    { name: "default", pod: {} },
    { name: "blue", multus: { networkName: "net" } },
    { name: "gone", multus: { networkName: "net" } },
    { name: "green", multus: { networkName: "net" } },
    { name: "red", multus: { networkName: "other/far" } },
  ],
  domain: { devices: { interfaces: [{ name: "gone", state: "absent" }] } },
};

const element = (interfaceName: string, name = "net", namespace = "shop") => ({ namespace, name, interfaceName });
const nic = (interfaceName: string, ...elements: readonly ReturnType<typeof element>[]) =>
  nicOf(interfaceName, elements, "shop", spec)?.name;

describe("the NIC of an interface", () => {
  it("as observed: blue is pod16477688c0e", () => {
    expect(hashedInterfaceName("blue")).toBe("pod16477688c0e");
    expect(nic("pod16477688c0e")).toBe("blue");
  });

  it("by position among the pod's own elements of one definition, absent ones aside", () => {
    const elements = [element("net1"), element("net2", "far", "other"), element("net3")];
    expect(elements.map(({ interfaceName }) => nic(interfaceName, ...elements))).toEqual(["blue", "red", "green"]);
  });

  it("the hash of a network that the VM has no more is nobody's, and shifts nobody", () => {
    const lost = hashedInterfaceName("lost");
    expect(nic(lost, element(lost))).toBeUndefined();
    expect(nic("net1", element(lost), element("net1"))).toBe("blue");
  });

  it("an interface that nothing selects is nobody's", () => {
    expect(nic("net1")).toBeUndefined();
    expect(nic("net9", element("net1"))).toBeUndefined();
  });
});
