// The reconciler of agents on the embedded API server: made, repaired, removed; networks labelled; Harvester's agents
// followed by ours; one bad object beside good ones.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as kinds from "../../src/cluster/resources.ts";
import { agentBudgets, agentDeployments, agentPods } from "../../src/vmnet/agents/objects.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { Fixture, image, shop, system } from "./agents-fixture.ts";

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
});
afterEach(() => fixture.close());

const at = (name: string) => ({ namespace: shop, name });
const eventually = (what: string, check: () => Promise<boolean>) => until(check, { what, everyMs: 10 });

describe("a pool", () => {
  it("gets its agents, a budget and the labels of its network, and says when they are ready", async () => {
    await fixture.network("net");
    await fixture.pool("blue", "net");
    const running = fixture.run();
    const { spec } = await fixture.deployed("blue");
    expect(spec.replicas).toBe(2);
    expect(spec.template.spec.containers[0]?.image).toBe(image);
    await eventually("a budget", async () => (await fixture.budget("blue")) !== undefined);
    await eventually("labels", async () => (await fixture.labelOf("net")) === "shop/blue");
    const status = () => running.agents.statusOf("shop/blue");
    await eventually("a status", async () => status()?.condition.reason === "NotReady");

    await fixture.agent("blue", "a1", true);
    await fixture.agent("blue", "a2", true);
    await fixture.holder("blue", "a2");
    await eventually("two that are ready", async () => status()?.condition.reason === "Ready");
    await eventually("the holder", async () => status()?.agentPodRef?.name === "a2");
    expect(status()?.agentPodRef).toMatchObject({ namespace: system, image });
    const pool = await fixture.client.get(kinds.managedPools, at("blue"));
    expect(running.agents.say(pool)).toMatchObject({
      conditions: [{ type: "AgentReady", status: true }],
      agentPodRef: { name: "a2" },
    });
    expect(running.told).toContain("shop/blue");

    await fixture.readiness({ namespace: system, name: "a2" }, false);
    await eventually("one is enough", async () => status()?.condition.reason === "Degraded");
    expect(status()?.condition.status).toBe(true);
  });

  it("has its agents repaired, and made again, and its annotations heard", async () => {
    await fixture.network("net");
    await fixture.pool("blue", "net");
    fixture.run();
    const { metadata } = await fixture.deployed("blue");
    const name = { namespace: system, name: metadata.name! };
    const container = { name: "agent", image: "evil", args: [] };
    const body = { spec: { replicas: 0, template: { spec: { containers: [container] } } } };
    await fixture.client.patch(agentDeployments, name, { type: "merge", body });
    await eventually("repair", async () => {
      const spec = (await fixture.deployment("blue"))?.spec;
      return spec?.replicas === 2 && spec.template.spec.containers[0]?.image === image;
    });

    await fixture.client.delete(agentDeployments, name);
    await eventually(
      "a new one",
      async () => ![undefined, metadata.uid].includes((await fixture.deployment("blue"))?.metadata.uid),
    );
    await fixture.client.delete(agentBudgets, name);
    await eventually("a new budget", async () => (await fixture.budget("blue")) !== undefined);

    const annotations = { "holdfast.io/agent-replicas": "3" };
    await fixture.client.patch(kinds.managedPools, at("blue"), { type: "merge", body: { metadata: { annotations } } });
    await eventually("three", async () => (await fixture.deployment("blue"))?.spec.replicas === 3);
    await fixture.client.patch(kinds.managedPools, at("blue"), { type: "merge", body: { spec: { paused: true } } });
    await eventually("none while it is paused", async () => (await fixture.deployment("blue"))?.spec.replicas === 0);
  });

  it("takes its agents, its labels and at last its Lease along", async () => {
    await fixture.network("net");
    await fixture.pool("blue", "net");
    fixture.run();
    await fixture.agent("blue", "a1", true, "example.com/still-runs");
    await fixture.holder("blue", "a1");
    await eventually("labels", async () => (await fixture.labelOf("net")) === "shop/blue");

    await fixture.client.delete(kinds.managedPools, at("blue"));
    await fixture.gone("blue");
    await eventually("labels to go", async () => (await fixture.labelOf("net")) === "");
    const lease = () => fixture.client.lookUp(kinds.leases, { namespace: system, name: "dhcp.shop.blue" });
    // An agent still runs, and would make it again.
    await fixture.settled();
    expect(await lease()).toBeDefined();
    const body = { metadata: { finalizers: null } };
    await fixture.client.patch(agentPods, { namespace: system, name: "a1" }, { type: "merge", body });
    await eventually("the Lease to go", async () => (await lease()) === undefined);
  });

  it("that is being deleted keeps its agents while somebody uses it, and loses them when nobody does", async () => {
    await fixture.network("net");
    await fixture.pool("blue", "net");
    const running = fixture.run();
    await fixture.deployed("blue");
    const finalizers = ["wrangler.cattle.io/vm-dhcp-ippool-controller"];
    await fixture.client.patch(kinds.managedPools, at("blue"), { type: "merge", body: { metadata: { finalizers } } });
    await fixture.client.delete(kinds.managedPools, at("blue"));
    await fixture.settled();
    expect(await fixture.deployment("blue")).toBeDefined();
    expect(await fixture.labelOf("net")).toBe("shop/blue");

    const pool = await fixture.client.get(kinds.managedPools, at("blue"));
    const { signal } = new AbortController();
    await eventually("the end", () => running.agents.finish(pool, signal));
    await fixture.gone("blue");
    await eventually("labels to go", async () => (await fixture.labelOf("net")) === "");
    expect(running.told.length).toBeGreaterThan(0);
  });

  it("on a network that is not there waits for it, and says so; a bad one beside it is no matter", async () => {
    await fixture.pool("blue", "net");
    await fixture.network("other");
    await fixture.pool("odd", "other", { cidr: "nonsense" });
    const running = fixture.run();
    await fixture.settled();
    expect(await fixture.deployment("blue")).toBeUndefined();
    expect(await fixture.deployment("odd")).toBeUndefined();
    expect(await fixture.labelOf("other")).toBe("");
    expect(running.agents.statusOf("shop/blue")?.condition.reason).toBe("NetworkMissing");
    expect(running.agents.statusOf("shop/odd")?.condition.reason).toBe("PoolRefused");
    await eventually("events", async () => (await fixture.reasons("blue")).includes("NetworkMissing"));

    await fixture.network("net");
    await fixture.deployed("blue");
  });

  it("of a network that gives addresses itself has no agents", async () => {
    const ipam = { type: "holdfast", range: "10.0.0.0/24" };
    await fixture.network("net", { cniVersion: "1.0.0", name: "n", type: "bridge", ipam });
    await fixture.pool("blue", "net");
    const running = fixture.run();
    await fixture.settled();
    expect(await fixture.deployment("blue")).toBeUndefined();
    expect(running.agents.statusOf("shop/blue")?.condition.message).toContain("Remove ipam");
  });

  it("of a tenant serves no network of another", async () => {
    await fixture.network("net");
    await fixture.client.create(kinds.namespaces, { metadata: { name: "thief" } });
    const spec = { networkName: "shop/net", ipv4Config: { cidr: "10.48.0.0/24" } };
    await fixture.client.create(kinds.managedPools, { metadata: { namespace: "thief", name: "blue" }, spec });
    const running = fixture.run();
    await fixture.settled();
    const { items } = await fixture.client.list(agentDeployments, { namespace: system });
    expect(items.map(({ metadata }) => metadata.annotations?.["holdfast.io/agent-of"])).toEqual(["shop/barrier1"]);
    expect(running.agents.statusOf("thief/blue")?.condition.message).toContain("another namespace");
    expect(await fixture.labelOf("net")).toBe("");
  });

  it("whose agents' name somebody else has is told so, and theirs is left alone", async () => {
    await fixture.network("net");
    const labels = { app: "theirs" };
    const container = { name: "c", image: "theirs", args: [] };
    const theirs = {
      metadata: { namespace: system, name: "shop-blue-agent" },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels, annotations: {} }, spec: { containers: [container], tolerations: [] } },
      },
    };
    await fixture.client.create(agentDeployments, theirs);
    await fixture.pool("blue", "net");
    const running = fixture.run();
    await fixture.settled();
    expect(running.agents.statusOf("shop/blue")?.condition.reason).toBe("NameTaken");
    expect((await fixture.deployment("blue"))?.spec.template.spec.containers[0]?.image).toBe("theirs");
    await fixture.client.delete(kinds.managedPools, at("blue"));
    await fixture.settled();
    expect(await fixture.deployment("blue")).toBeDefined();
  });
});

describe("a network", () => {
  it("with two pools names the first, and is not written in turns", async () => {
    await fixture.network("net");
    await fixture.pool("red", "net", { cidr: "10.1.0.0/24" });
    fixture.run();
    await eventually("red", async () => (await fixture.labelOf("net")) === "shop/red");
    await fixture.pool("blue", "net", { cidr: "10.2.0.0/24" });
    await eventually("blue", async () => (await fixture.labelOf("net")) === "shop/blue");
    const versionOf = async () =>
      (await fixture.client.get(kinds.networkAttachmentDefinitions, at("net"))).metadata.resourceVersion;
    const before = await versionOf();
    await fixture.agent("red", "r1", true);
    await fixture.agent("blue", "b1", true);
    await fixture.settled();
    expect(await versionOf()).toBe(before);
    await fixture.client.delete(kinds.managedPools, at("blue"));
    await eventually("red again", async () => (await fixture.labelOf("net")) === "shop/red");
    await fixture.gone("blue");
    await fixture.deployed("red");
  });

  it("of control-plane nodes only has agents that bear their taint; a worker more, and they need not", async () => {
    const taint = "node-role.kubernetes.io/control-plane";
    await fixture.client.delete(kinds.nodes, { name: "worker" });
    await fixture.node("c1", taint);
    await fixture.network("net");
    await fixture.pool("blue", "net");
    fixture.run();
    const bears = async () => {
      const tolerations = (await fixture.deployment("blue"))?.spec.template.spec.tolerations;
      return tolerations?.some(({ key }) => key === taint);
    };
    await eventually("a toleration", async () => (await bears()) === true);
    await fixture.node("w1");
    await eventually("no toleration", async () => (await bears()) === false);
  });
});

describe("a leader that comes later", () => {
  it("writes nothing where all is as it should be, and removes what lost its pool meanwhile", async () => {
    await fixture.network("net");
    await fixture.pool("blue", "net", { cidr: "10.1.0.0/24" });
    await fixture.pool("red", "net", { cidr: "10.2.0.0/24" });
    const first = fixture.run();
    const { metadata } = await fixture.deployed("blue");
    await fixture.deployed("red");
    await fixture.settled();
    await first.stop();
    await fixture.client.delete(kinds.managedPools, at("red"));
    fixture.run();
    await fixture.gone("red");
    await fixture.settled();
    expect((await fixture.deployment("blue"))?.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  it("with another image rolls them, but for a pool that holds it back", async () => {
    await fixture.network("net");
    await fixture.pool("blue", "net", { cidr: "10.1.0.0/24" });
    const annotations = { "network.harvesterhci.io/hold-ippool-agent-upgrade": "true" };
    await fixture.pool("red", "net", { cidr: "10.2.0.0/24", annotations });
    const first = fixture.run();
    await fixture.deployed("blue");
    await fixture.deployed("red");
    await first.stop();
    fixture.run({ image: "localhost/holdfast:2" });
    const imageOf = async (pool: string) => (await fixture.deployment(pool))?.spec.template.spec.containers[0]?.image;
    await eventually("blue to be rolled", async () => (await imageOf("blue")) === "localhost/holdfast:2");
    await fixture.settled();
    expect(await imageOf("red")).toBe(image);
  });
});

describe("Harvester's agent", () => {
  const theirs = { namespace: "harvester-system", name: "shop-blue-agent" };
  const isThere = async () => (await fixture.client.lookUp(agentPods, theirs)) !== undefined;

  it("goes when one of ours is ready, not before; one that comes back is not fought over", async () => {
    await fixture.network("net");
    await fixture.harvesterAgent("blue");
    await fixture.pool("blue", "net");
    fixture.run();
    await fixture.agent("blue", "a1", false);
    await fixture.settled();
    expect(await isThere()).toBe(true);
    await fixture.readiness({ namespace: system, name: "a1" }, true);
    await eventually("it to go", async () => !(await isThere()));

    await fixture.harvesterAgent("blue");
    await eventually("an event", async () => (await fixture.reasons("blue")).includes("HarvesterStillRuns"));
    expect(await isThere()).toBe(true);
  });
});

describe("a cluster without the kind of pools", () => {
  it("is asked for nothing of agents, keeps those that it has, and gets others once it has the kind", async () => {
    await fixture.close();
    fixture = await Fixture.open(await embeddedServer(), { isBare: true });
    await fixture.network("net");
    const labels = { "network.harvesterhci.io/vm-dhcp-controller": "agent" };
    const annotations = { "holdfast.io/agent-of": "shop/old" };
    const metadata = { namespace: system, name: "shop-old-agent", labels, annotations };
    const containers = [{ name: "agent", image, args: [] }];
    const template = { metadata: { labels, annotations }, spec: { containers, tolerations: [] } };
    await fixture.client.create(agentDeployments, {
      metadata,
      spec: { replicas: 1, selector: { matchLabels: labels }, template },
    });
    const running = fixture.run();
    const asked = (resource: string) => running.paths.filter((path) => path.includes(`/${resource}`));
    await eventually("three questions for the kind", async () => asked("network.harvesterhci.io").length > 2);
    expect(asked("ippools")).toEqual([]);
    expect(asked("deployments")).toEqual([]);
    expect(await fixture.deployment("old")).toBeDefined();
    await fixture.installKinds();
    await fixture.pool("blue", "net");
    await fixture.deployed("blue");
  });
});
