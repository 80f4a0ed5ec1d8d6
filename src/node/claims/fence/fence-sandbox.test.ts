// Which sandboxes are fenced, as a table and as a rule.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { Hold } from "../../../ipam/ledger.ts";
import { parseAddress } from "../../../net/address.ts";
import { judgeSandbox, linksOf, othersAt, type SandboxFacts } from "./fence-facts.ts";

const lost: SandboxFacts = { isThere: true, pod: "gone", wasOver: false, isUsedElsewhere: true };

describe("a sandbox", () => {
  it.each<[string, Partial<SandboxFacts>, string]>([
    ["of a pod that was deleted while its VM runs elsewhere", {}, "fence"],
    ["of a pod that runs", { pod: "alive" }, "keep"],
    ["of a pod that runs, during a migration", { pod: "alive", isUsedElsewhere: true }, "keep"],
    ["of a pod that was deleted, and nobody has its address", { isUsedElsewhere: false }, "wait"],
    ["of a pod that has just ended: its kubelet tears it down", { pod: "over" }, "wait"],
    ["of a pod that ended before the last look, too", { pod: "over", wasOver: true }, "fence"],
    ["that is gone", { isThere: false }, "forget"],
  ])("%s", (_, facts, verdict) => {
    expect(judgeSandbox({ ...lost, ...facts })).toBe(verdict);
  });

  it("is fenced only where its pod is not alive and another lives", () => {
    const facts = fc.record({
      isThere: fc.boolean(),
      pod: fc.constantFrom("alive" as const, "over" as const, "gone" as const),
      wasOver: fc.boolean(),
      isUsedElsewhere: fc.boolean(),
    });
    fc.assert(
      fc.property(facts, (each) => {
        if (judgeSandbox(each) !== "fence") return;
        expect(each).toMatchObject({ isThere: true, isUsedElsewhere: true });
        expect(each.pod).not.toBe("alive");
      }),
    );
  });

  it.each([
    ["net1", ["net1-nic", "net1"]],
    ["eth0", ["eth0-nic", "eth0"]],
    ["pod16477688c0e", ["16477688c0e-nic", "pod16477688c0e"]],
  ])("%s: the cable of KubeVirt's bridge, and the name that the plugin gave", (interfaceName, links) => {
    expect(linksOf({ containerId: "c", interfaceName })).toEqual(links);
  });
});

describe("who else is at an address", () => {
  const own = { namespace: "shop", name: "launcher-1", uid: "pod-1" };
  const claim = { kind: "claim", uid: "c", namespace: "shop", name: "vm.blue" } as const;
  const pod = { kind: "pod", uid: "pod-9", namespace: "other", name: "web", interface: "net1" } as const;
  const user = (name: string, uid: string) => ({ name, uid, node: "n2" });
  it.each<[string, Partial<Hold>, string[]]>([
    [
      "the users but the pod itself",
      { users: [user("launcher-1", "pod-1"), user("launcher-2", "pod-2")] },
      ["shop/launcher-2"],
    ],
    ["nobody whom no one can ask for", { users: [user("", "")] }, []],
    ["nobody", {}, []],
    ["the pod that has it by now", { owner: pod }, ["other/web"]],
    ["not itself, where it has it by its own", { owner: { ...pod, uid: "pod-1" } }, []],
    ["a pod that was recorded without a UID", { owner: { ...pod, uid: "" } }, ["other/web"]],
  ])("%s", (_, parts, expected) => {
    const hold = { domain: "network:", address: parseAddress("10.0.0.7"), owner: claim, version: "1", ...parts };
    expect(othersAt(hold, own).map(({ namespace, name }) => `${namespace}/${name}`)).toEqual(expected);
  });
});
