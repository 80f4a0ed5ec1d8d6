// Who may attach a pod to a network of OVN: whose definition it is, and how often.
import { describe, expect, it } from "vitest";

import { assertAttachable } from "./refusal.ts";

type Asked = Parameters<typeof assertAttachable>[0];

const selecting = (text: string) => ({ "k8s.v1.cni.cncf.io/networks": text });

function asked(topology: string, annotations: Record<string, string>, more: Partial<Asked> = {}): Asked {
  const object = { apiVersion: "v1", kind: "Pod", metadata: { namespace: "shop", name: "web" } };
  const pod = { uid: "u", namespace: "shop", name: "web", annotations, isMirror: false, object };
  const definition = "shop/blue";
  const ovn = { topology, isPrimary: false, device: "", physicalNetwork: "physnet", definition, faults: [] };
  return {
    invocation: { interfaceName: "net1" } as Asked["invocation"],
    ovn: ovn as unknown as Asked["ovn"],
    network: "blue",
    pod,
    node: "n1",
    bridgeMappings: new Map([["physnet", "br-ex"]]),
    trusted: new Set(["kube-system", "default"]),
    beside: "",
    ...more,
  };
}

const told = (given: Asked): string => {
  try {
    assertAttachable(given);
    return "attached";
  } catch (error) {
    return (error as Error).message;
  }
};

describe("a pod on a network of OVN", () => {
  it("is attached to the default network by its node's own configuration", () => {
    expect(told(asked("default", {}, { invocation: { interfaceName: "eth0" } as Asked["invocation"] }))).toBe(
      "attached",
    );
  });

  it.each(["default", "layer2", "localnet"])(
    "is not attached by a definition of a namespace that nobody trusts: topology %s",
    (topology) => {
      const words = told(asked(topology, selecting("blue")));
      expect(words).toContain("the network blue of pod shop/web is defined in the namespace shop");
      expect(words).toContain("--trusted-namespaces");
    },
  );

  it("is attached by one of a trusted namespace, and once", () => {
    const own = asked("layer2", selecting("default/blue"));
    const definition = { ...own.ovn, definition: "default/blue" };
    expect(told({ ...own, ovn: definition })).toBe("attached");
    expect(told({ ...own, ovn: definition, beside: "net2" })).toContain("is on its interface net2 already");
  });
});
