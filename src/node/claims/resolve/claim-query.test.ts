import { describe, expect, it } from "vitest";

import { hashedInterfaceName } from "../../../api/claims/kubevirt.ts";
import type { Persistence } from "../../../cni/config/persistence.ts";
import type { PodFacts } from "../../request/pods.ts";
import { nicFor, requestedFor, wishOf } from "./claim-query.ts";

const persistence: Persistence = { network: "net", isAllowed: true, isPrimary: false, isOurs: true, problem: "" };
const podOf = (annotations: Record<string, string>, isLauncher = false): PodFacts => ({
  uid: "u",
  namespace: "ns",
  name: "p",
  annotations,
  isMirror: false,
  object: {
    metadata: {
      name: "p",
      annotations,
      ...(isLauncher && {
        labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "vmi-1" },
        ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "vm", uid: "vmi-1" }],
      }),
    },
  },
});
const selecting = (...elements: object[]) => ({ "k8s.v1.cni.cncf.io/networks": JSON.stringify(elements) });
const element = (claim?: string, more: object = {}) => ({
  name: "nad",
  ...(claim !== undefined && { "ipam-claim-reference": claim }),
  ...more,
});

describe("what points to a claim", () => {
  it.each([
    ["nothing", podOf(selecting(element())), persistence, "net1", undefined],
    ["the element of this interface", podOf(selecting(element("a"), element("b"))), persistence, "net2", "b"],
    ["that of another interface", podOf(selecting(element("a"), element())), persistence, "net2", undefined],
    [
      "the default network's",
      podOf({ "v1.multus-cni.io/default-network": JSON.stringify([element("a")]) }),
      persistence,
      "eth0",
      "a",
    ],
    [
      "OVN's annotation, on a primary network",
      podOf({ "k8s.ovn.org/primary-udn-ipamclaim": "a" }),
      { ...persistence, isPrimary: true },
      "ovn-udn1",
      "a",
    ],
    [
      "OVN's annotation, on another network",
      podOf({ "k8s.ovn.org/primary-udn-ipamclaim": "a" }),
      persistence,
      "net1",
      undefined,
    ],
  ])("%s", (_, pod, allowed, interfaceName, expected) => {
    expect(wishOf(pod, interfaceName, allowed)?.reference).toBe(expected);
  });

  it("a launcher does also without a reference, any other pod does not", () => {
    expect(wishOf(podOf(selecting(element()), true), "net1", persistence)?.launched).toEqual({
      name: "vm",
      uid: "vmi-1",
    });
    expect(wishOf(podOf(selecting(element())), "net1", persistence)).toBeUndefined();
    expect(wishOf(undefined, "net1", persistence)).toBeUndefined();
  });

  it("one claim for two interfaces is refused for the second, unless it is a launcher, whose NICs are found otherwise", () => {
    const both = selecting(element("a"), element("a"));
    expect(wishOf(podOf(both), "net1", persistence)?.reference).toBe("a");
    expect(() => wishOf(podOf(both), "net2", persistence)).toThrow(/net1 and net2/);
    expect(wishOf(podOf(both, true), "net2", persistence)?.reference).toBe("a");
  });
});

describe("which NIC", () => {
  const networks = [
    { name: "default", pod: {} },
    { name: "blue", multus: { networkName: "nad" } },
    { name: "green", multus: { networkName: "ns/nad" } },
  ];
  const vmi = { spec: { networks } };
  const wish = (interfaceName: string, allowed = persistence) =>
    wishOf(podOf(selecting(element(), element()), true), interfaceName, allowed)!;

  it.each([
    ["by the hash in its name", wish(hashedInterfaceName("green")), "green"],
    ["by the order of the elements", wish("net2"), "green"],
    ["none that is known", wish("net7"), undefined],
    ["the pod network's, on a primary network", wish("eth0", { ...persistence, isPrimary: true }), "default"],
  ])("%s", (_, asked, expected) => {
    expect(nicFor(asked, vmi)).toBe(expected);
  });
});

describe("addresses that KubeVirt's annotation asks for", () => {
  const asked = (text: string) => requestedFor("blue", { pod: podOf({ "network.kubevirt.io/addresses": text }) });

  it("are those of the NIC", () => {
    expect(asked('{"blue":["10.0.0.7","fd00::7"],"green":["10.0.0.8"]}')).toEqual(["10.0.0.7", "fd00::7"]);
    expect(asked('{"green":["10.0.0.8"]}')).toEqual([]);
    expect(asked("")).toEqual([]);
  });

  it.each(["no json", "[]", '{"blue":"10.0.0.7"}', '{"blue":[7]}'])(
    "cannot be read from %s, and the pod is told so",
    (text) => {
      expect(() => asked(text)).toThrow(/network\.kubevirt\.io\/addresses of pod ns\/p/);
    },
  );
});
