import { describe, expect, it } from "vitest";

import { DefinitionInformer } from "../../cluster/definition-informer.ts";
import { deepFreeze } from "../../kube/cache/freeze.ts";
import { KubeClient } from "../../kube/rest.ts";
import { ManualClock } from "../../kube/testing/manual-clock.ts";
import { parseAddress } from "../../net/address.ts";
import { ClaimNetworks } from "./networks.ts";

interface Parts {
  readonly namespace?: string;
  readonly config: object | string;
}

/** Definitions as if they had been listed; undefined: they have not. */
function networksOf(parts: Readonly<Record<string, Parts>> | undefined, attachesOvn = false): ClaimNetworks {
  const client = new KubeClient({ transport: () => Promise.reject(new Error("nobody is asked")) });
  const followed = new DefinitionInformer({ client, clock: new ManualClock(), onError: () => {} });
  const objects = Object.entries(parts ?? {}).map(([name, { namespace = "shop", config }]) =>
    deepFreeze({
      metadata: { namespace, name },
      spec: { config: typeof config === "string" ? config : JSON.stringify(config) },
    }),
  );
  const cache = {
    get: (key: string) => objects.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === key),
    byIndex: (_: string, namespace: string) => objects.filter(({ metadata }) => metadata.namespace === namespace),
  };
  const listed = Object.defineProperties(Object.create(followed) as DefinitionInformer, {
    isKnown: { value: parts !== undefined },
    cache: { value: cache },
    list: { value: () => (parts === undefined ? undefined : objects) },
  });
  return new ClaimNetworks(listed, "kube-system", undefined, attachesOvn);
}

const ours = (name: string, ipam: object) => ({
  cniVersion: "1.0.0",
  name,
  type: "bridge",
  ipam: { type: "holdfast", network_name: name, allowPersistentIPs: true, ...ipam },
});
const blue = { config: ours("blue", { range: "10.0.0.0/24", range_start: "10.0.0.10", range_end: "10.0.0.20" }) };
const at = parseAddress;

describe("networks of claims", () => {
  it("are unknown until they are listed, and missing after that", () => {
    expect(networksOf(undefined).definitionOf("shop/blue")).toBe("unknown");
    expect(networksOf({}).definitionOf("shop/blue")).toBe("missing");
    expect(networksOf({ blue }).definitionOf("shop/blue")).toMatchObject({ network: "blue", isAllowed: true });
  });

  it("say who gives their addresses", () => {
    const others = { config: { name: "ovn", type: "kube-ovn", topology: "layer2", subnets: "10.1.0.0/16" } };
    const networks = networksOf({ blue, ovn: others, broken: { config: "{" } });
    expect([
      networks.giverOf("blue", "shop"),
      networks.giverOf("ovn", "shop"),
      networks.giverOf("none", "shop"),
    ]).toEqual(["holdfast", "other", "unknown"]);
  });

  it("of OVN-Kubernetes' type are its, unless our daemons attach them", () => {
    const plugin = { name: "ovn", topology: "layer2", subnets: "10.1.0.0/16", allowPersistentIPs: true };
    const ovn = { config: { cniVersion: "1.0.0", ...plugin, type: "ovn-k8s-cni-overlay" } };
    const own = { config: { cniVersion: "1.0.0", ...plugin, name: "own", type: "holdfast-ovn" } };
    expect(networksOf({ ovn, own }).giverOf("ovn", "shop")).toBe("other");
    expect(networksOf({ ovn, own }).giverOf("own", "shop")).toBe("holdfast");
    expect(networksOf({ ovn, own }, true).giverOf("ovn", "shop")).toBe("holdfast");
  });

  it("know the range of an address, by its ends too", () => {
    const networks = networksOf({ blue });
    expect(networks.rangeOf("blue", "shop", at("10.0.0.15"))?.range.prefix.length).toBe(24);
    expect(networks.rangeOf("blue", "shop", at("10.0.0.9"))).toBeUndefined();
    expect(networks.rangeOf("blue", "shop", at("10.0.0.21"))).toBeUndefined();
    expect(networks.lengthAround("blue", "shop", at("10.0.0.9"))).toBe(24);
    expect(networks.lengthAround("blue", "shop", at("10.0.1.9"))).toBeUndefined();
  });

  it("tell what a hold whose claim is gone may be of", () => {
    const hold = (domain: string, address: string) => ({
      domain,
      address: at(address),
      owner: { kind: "claim" as const, uid: "c", namespace: "shop", name: "vm.blue" },
      version: "1",
    });
    const green = { config: { ...ours("green", { range: "10.0.0.0/24", network_name: "blue" }) } };
    const alone = networksOf({ blue });
    expect(alone.networksOf(hold("network:blue", "10.0.0.15"), "kube-system")).toEqual(["blue"]);
    expect(alone.networksOf(hold("network:blue", "10.0.0.15"), "shop")).toEqual([]);
    expect(alone.networksOf(hold("network:red", "10.0.0.15"), "kube-system")).toEqual([]);
    const both = networksOf({ blue, green }).networksOf(hold("network:blue", "10.0.0.15"), "kube-system");
    expect(both).toEqual(["blue", "green"]);
    const apart = {
      config: ours("apart", { range: "10.7.0.0/24", network_name: "", enable_overlapping_ranges: false }),
    };
    const own = networksOf({ apart, blue });
    expect(own.networksOf(hold("pool:kube-system/10.7.0.0-24", "10.7.0.1"), "kube-system")).toEqual(["apart"]);
    // A tenant's pool may not stand alone, whatever its definition asks for.
    expect(own.networksOf(hold("network:", "10.7.0.1"), "kube-system")).toEqual(["apart"]);
  });

  it("rest as long as any of their definitions wants; where none says it, as all do", () => {
    expect(networksOf({ blue }).cooldownOf(["blue"], "shop")).toBeUndefined();
    const short = { config: ours("blue", { range: "10.0.1.0/24", cooldown: 5 }) };
    const long = { config: ours("blue", { range: "10.0.2.0/24", cooldown: 60 }) };
    expect(networksOf({ blue, short, long }).cooldownOf(["blue"], "shop")).toBe(60_000);
  });

  it("are what the nearest definitions say: another tenant's of the same name changes nothing", () => {
    const theirs = { namespace: "attacker", config: ours("blue", { range: "10.0.0.0/8", cooldown: 3_000_000 }) };
    const foreign = { namespace: "attacker", config: { name: "blue", type: "kube-ovn" } };
    for (const namespace of ["shop", "default", "kube-system"]) {
      const networks = networksOf({ theirs, foreign, blue: { ...blue, namespace } });
      expect(networks.cooldownOf(["blue"], "shop")).toBeUndefined();
      expect(networks.rangeOf("blue", "shop", at("10.0.0.15"))?.range.prefix.length).toBe(24);
      expect(networks.giverOf("blue", "shop")).toBe("holdfast");
    }
    const ovn = { config: { name: "blue", type: "kube-ovn" } };
    expect(networksOf({ theirs, ovn }).giverOf("blue", "shop")).toBe("other");
  });

  it("of a namespace: the primary one, that which allows persistence first", () => {
    const primary = (name: string, allowPersistentIPs: boolean) => ({
      config: {
        name,
        type: "kube-ovn",
        topology: "layer2",
        role: "primary",
        subnets: "10.1.0.0/16",
        allowPersistentIPs,
      },
    });
    const networks = networksOf({ a: primary("a", false), b: primary("b", true), blue });
    expect(networks.primaryOf("shop")?.network).toBe("b");
    expect(networks.primaryOf("other")).toBeUndefined();
  });
});
