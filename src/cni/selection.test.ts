// Which network an interface of a pod is of, in every form that the annotation may have.
import { describe, expect, it } from "vitest";

import { assertSelectable, selectionOf, selectionsOf } from "./selection.ts";

const pod = (networks: string, more: Record<string, string> = {}) => ({
  namespace: "shop",
  name: "web",
  annotations: { "k8s.v1.cni.cncf.io/networks": networks, ...more },
});

describe("the annotation", () => {
  it.each([
    ["nothing", "", []],
    ["one name", "red", ["shop/red net1"]],
    ["names with commas and blanks", " red , infra/blue ", ["shop/red net1", "infra/blue net2"]],
    ["an interface of its own", "red@eth7,blue", ["shop/red eth7", "shop/blue net2"]],
    [
      "JSON",
      '[{"name":"red"},{"name":"blue","namespace":"infra","interface":"x0"}]',
      ["shop/red net1", "infra/blue x0"],
    ],
    ["one JSON object", '{"name":"red"}', ["shop/red net1"]],
  ])("%s", (_what, text, expected) => {
    expect(selectionsOf(pod(text)).map((each) => `${each.namespace}/${each.name} ${each.interfaceName}`)).toEqual(
      expected,
    );
  });

  it.each([["[{]"], ["[{}]"], ["[7]"], ["a/b/c"], ["red,,blue"]])("%s cannot be read, and says whose it is", (text) => {
    expect(() => selectionsOf(pod(text))).toThrow(/pod shop\/web cannot be read/);
  });

  it("asks for addresses, and only strings count", () => {
    const text = '[{"name":"red","ips":["10.0.0.7/24",7,"fd00::7"]}]';
    expect(selectionOf(pod(text), "net1")?.ips).toEqual(["10.0.0.7/24", "fd00::7"]);
    expect(selectionOf(pod(text), "eth0")).toBeUndefined();
  });

  it("Multus' default network is the first interface", () => {
    const more = { "v1.multus-cni.io/default-network": "infra/main" };
    expect(selectionOf(pod("red", more), "eth0")).toMatchObject({ namespace: "infra", name: "main" });
  });
});

describe("isolation", () => {
  const other = { namespace: "infra", name: "blue", interfaceName: "net1", ips: [] };
  it.each([
    ["not isolated", { isolated: false, globalNamespaces: [] }, true],
    ["isolated", { isolated: true, globalNamespaces: ["default"] }, false],
    ["isolated, and global", { isolated: true, globalNamespaces: ["infra"] }, true],
  ])("%s: a network of another namespace is allowed: %s", (_what, rule, isAllowed) => {
    const judge = () => assertSelectable(pod(""), other, rule);
    if (isAllowed) judge();
    else expect(judge).toThrow(/--global-namespaces/);
    assertSelectable(pod(""), { ...other, namespace: "shop" }, rule);
  });
});
